// One polite region for sentences, one stack for what must not be missed, and focus after an answer.
import { leave } from "./drafts.js";

export function say(text) {
  const region = document.querySelector("#status");
  if (!region) return;
  region.textContent = "";
  requestAnimationFrame(() => { region.textContent = text; });
}

export function toast(text, { tone = "bad", retry, label = "Try again" } = {}) {
  const template = document.querySelector("#toast-template");
  const stack = document.querySelector("#toasts");
  if (!template || !stack) return;
  if ([...stack.children].some((old) => old.dataset.text === text)) return;
  const node = template.content.firstElementChild.cloneNode(true);
  node.classList.add(`tone-${tone}`);
  node.dataset.text = text;
  node.querySelector("[data-toast-text]").textContent = text;
  const again = node.querySelector("[data-toast-retry]");
  again.textContent = label;
  if (retry) again.addEventListener("click", () => { node.remove(); retry(); });
  else again.remove();
  node.querySelector("[data-toast-close]").addEventListener("click", () => node.remove());
  stack.append(node);
}

const asked = (ctx) => ctx && ctx.request.method !== "GET";
const again = (ctx) => () => (ctx.sourceElement?.matches?.("form") ? ctx.sourceElement.requestSubmit() : location.reload());

function signIn() {
  const { login } = document.querySelector("#toasts").dataset;
  leave(`${login}?next=${encodeURIComponent(location.pathname + location.search)}`);
}

export function start() {
  // A form that was answered by a whole page: what became of it, or what is wrong with it, comes first.
  document.querySelector("h1[data-focus], .banner [data-focus], [aria-invalid=true][data-focus]")?.focus();
  document.addEventListener("htmx:response:error", (event) => {
    const { ctx } = event.detail;
    if (ctx.response.status === 401) {
      toast("Your session is over, so this page no longer updates. What you typed is still here.", { tone: "ask", retry: signIn, label: "Sign in" });
      return;
    }
    if (ctx.response.status < 500 || !asked(ctx)) return;
    const busy = ctx.response.status === 503;
    toast(busy ? "The server is busy or starting again. What you typed is still here."
      : `The server could not answer (${ctx.response.status}). What you typed is still here.`, { retry: again(ctx) });
  });
  document.addEventListener("htmx:error", (event) => {
    const { ctx } = event.detail;
    if (asked(ctx)) toast("The server can't be reached. What you typed is still here.", { retry: again(ctx) });
  });
  window.addEventListener("offline", () => toast("You are offline. The page shows what was known before.", { tone: "ask" }));
  window.addEventListener("online", () => {
    document.querySelectorAll("#toasts > *").forEach((node) => node.remove());
    say("Back online.");
  });
  document.addEventListener("htmx:after:swap", (event) => {
    const { ctx } = event.detail;
    // A new page keeps neither the focus of a field so named, nor the old place.
    const page = ctx.target === document.body || ctx.target === "body";
    if (page) window.scrollTo(0, 0);
    if (!asked(ctx) && !page) return;
    const target = typeof ctx.target === "string" ? document.querySelector(ctx.target) : ctx.target;
    const place = (target?.isConnected ? target : document).querySelector("[data-focus]") ?? document.querySelector(page ? "h1" : "[data-focus]");
    if (!place) return;
    place.focus();
    if (place.matches("input[type=text]")) place.select(); // as Tab would
    say(place.dataset.say || place.textContent.trim().replace(/\s+/g, " "));
  });
}

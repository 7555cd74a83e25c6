// A form that its server draws from all that is typed and chosen in it: what was kept of it, sent once more, draws it as
// it was. It survives a lost session or a closed tab, and leaving asks first.
let leaving = false;
let touched = false;

const theirs = () => document.querySelector("form[data-whole]");
const name = (form) => `draft:${form.dataset.whole}`;
const keep = (form) => sessionStorage.setItem(name(form), new URLSearchParams(new FormData(form)));

function draw(form, kept) {
  const again = Object.assign(document.createElement("form"), { method: "post" });
  const values = new URLSearchParams(kept);
  values.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  values.set("act", "draft");
  for (const [key, value] of values) again.append(Object.assign(document.createElement("input"), { type: "hidden", name: key, value }));
  document.body.append(again);
  leaving = true;
  again.submit();
}

export function refresh() {
  const form = theirs();
  for (const note of form?.querySelectorAll(".f-note") ?? []) {
    const control = form.elements[`f-${note.id.replace(/-note$/, "")}`];
    if (note.querySelector(".error")) control?.setAttribute?.("aria-invalid", "true");
    else control?.removeAttribute?.("aria-invalid");
  }
  const state = form?.dataset.drawn;
  if (!state) return;
  delete form.dataset.drawn;
  const kept = sessionStorage.getItem(name(form));
  leaving = false;
  touched = state === "draft";
  if (touched) keep(form);
  else if (state === "same") sessionStorage.removeItem(name(form));
  else if (kept) draw(form, kept);
}

export function start() {
  document.addEventListener("input", ({ target }) => {
    const form = target.closest?.("form[data-whole]");
    if (form) keep(form);
    touched ||= Boolean(form);
  });
  document.addEventListener("click", ({ target }) => {
    if (!target.closest?.("[data-discard]")) return;
    sessionStorage.removeItem(name(theirs()));
    leaving = true;
  });
  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    const form = theirs();
    const login = ctx.hx?.redirect?.includes("next=");
    if (!form?.contains(ctx.sourceElement)) return;
    leaving ||= login;
    if (form !== ctx.sourceElement || ctx.response.status >= 400) return;
    if (login) sessionStorage.setItem("draft-waits", name(form));
    else sessionStorage.removeItem(name(form));
    leaving = true;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && touched && theirs()) event.preventDefault();
  });
}

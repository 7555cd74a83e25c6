// Shows whether the page still hears of changes, and catches up after a silence.
const words = { live: "Live", lost: "Not live", wait: "Connecting" };

function set(state) {
  const mark = document.querySelector("[data-live-state]");
  if (!mark || mark.dataset.state === state) return;
  mark.dataset.state = state;
  mark.querySelector("[data-live-words]").textContent = words[state];
  mark.title = state === "lost" ? "The page does not update by itself right now. It keeps trying." : "";
}

export function start() {
  document.addEventListener("htmx:sse:after:connection", () => set("live"));
  document.addEventListener("htmx:sse:error", () => set("lost"));
  document.addEventListener("htmx:sse:close", (event) => { if (event.detail.reason !== "removed") set("lost"); });
  document.addEventListener("htmx:response:error", (event) => { if (event.target.id === "stream") set("lost"); });
  document.addEventListener("htmx:error", (event) => { if (event.target.id === "stream") set("lost"); });
  window.addEventListener("offline", () => set("lost"));
  // An answer for the tab that was left must not overwrite the one that is shown now.
  document.addEventListener("htmx:before:swap", (event) => {
    const { sourceElement, request } = event.detail.ctx;
    if (sourceElement?.id === "live" && new URL(request.action, location.href).pathname !== location.pathname) event.preventDefault();
  });
  // Without a stream the page asks from time to time, as a hint would make it.
  setInterval(() => {
    const mark = document.querySelector("[data-live-state]");
    if (!mark || mark.dataset.state === "live" || document.hidden || !navigator.onLine) return;
    document.querySelector("#stream")?.dispatchEvent(new CustomEvent("resync"));
  }, 20_000);
}

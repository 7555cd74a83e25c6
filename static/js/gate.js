// An approval waits until every folded part was opened and the end of the arguments was on the screen.
const seen = new WeakSet();
let observer;

const missing = () => ({
  folded: [...document.querySelectorAll("details[data-must-open]")].filter((part) => !seen.has(part)),
  unseen: [...document.querySelectorAll("[data-must-see]")].filter((part) => !seen.has(part)),
});

export function refresh() {
  const forms = document.querySelectorAll("form[data-gate]");
  if (!forms.length) return;
  for (const part of document.querySelectorAll("[data-must-see]")) if (!seen.has(part)) observer?.observe(part);
  for (const part of document.querySelectorAll("details[data-must-open][open]")) seen.add(part);
  const { folded, unseen } = missing();
  let text = "";
  if (folded.length) text = folded.length === 1 ? "Open the folded part of the arguments first." : `Open the ${folded.length} folded parts of the arguments first.`;
  else if (unseen.length) text = "Scroll to the end of the arguments first: then this can be pressed.";
  for (const form of forms) {
    const button = form.querySelector("[type=submit]");
    const note = form.querySelector("[data-gate-note]");
    if (text) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
    if (note && note.lastElementChild.textContent !== text) {
      note.lastElementChild.textContent = text;
      note.hidden = !text;
    }
  }
}

export function start() {
  observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.add(entry.target);
      observer.unobserve(entry.target);
    }
    refresh();
  });
  // End goes to the end of the arguments first: a jump to the foot of the page would pass it unseen.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "End" || event.defaultPrevented || event.target.closest?.("input, textarea, select, dialog")) return;
    const [first] = document.querySelector("form[data-gate]") ? missing().unseen : [];
    if (!first) return;
    event.preventDefault();
    first.scrollIntoView({ block: "end" });
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details[data-must-open]") && event.target.open) {
      seen.add(event.target);
      refresh();
    }
  }, { capture: true });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-gate]")) return;
    const { folded, unseen } = missing();
    const first = folded[0] ?? unseen[0];
    if (!first) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    first.scrollIntoView({ block: "center" });
    (first.querySelector("summary") ?? first).focus({ preventScroll: true });
  }, { capture: true });
}

// j and k walk the rows of a list marked data-cursor; the row's link has the focus, so Enter opens it. Marks with
// data-row-act do something with the row that has the focus, or with the first one: select it, or open it at a form.
const rows = (list) => [...list.querySelectorAll("[data-row-link]")];
const at = (links) => links.findIndex((link) => link.closest("[data-row]").contains(document.activeElement));

function move(list, step) {
  const links = rows(list);
  if (!links.length) return;
  const now = at(links);
  const next = now < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(now + step, 0), links.length - 1);
  links[next].focus();
  links[next].closest("[data-row]").scrollIntoView({ block: "nearest" });
}

function act(list, what) {
  const links = rows(list);
  const link = links[Math.max(at(links), 0)];
  if (!link) return;
  if (what !== "tick") {
    location.href = `${link.href}#${what}`;
    return;
  }
  link.focus();
  link.closest("[data-row]").querySelector("input[type=checkbox]")?.click();
}

export function start() {
  document.addEventListener("hotkey-fire", (event) => {
    const list = event.target.closest("[data-cursor]");
    const mark = event.target.closest("[data-row-act]");
    if (!list || (event.target !== list && !mark)) return;
    event.preventDefault();
    if (mark) act(list, mark.dataset.rowAct);
    else move(list, event.detail.path.at(-1) === "k" ? -1 : 1);
  }, { capture: true });
}

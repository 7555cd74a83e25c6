// j and k walk the rows of a list marked data-cursor; the row's link has the focus, so Enter opens it.
function move(list, step) {
  const links = [...list.querySelectorAll("[data-row-link]")];
  if (!links.length) return;
  const at = links.findIndex((link) => link.closest("[data-row]").contains(document.activeElement));
  const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1);
  links[next].focus();
  links[next].closest("[data-row]").scrollIntoView({ block: "nearest" });
}

export function start() {
  document.addEventListener("hotkey-fire", (event) => {
    const list = event.target.closest("[data-cursor]");
    if (!list || event.target !== list) return;
    event.preventDefault();
    move(list, event.detail.path.at(-1) === "k" ? -1 : 1);
  }, { capture: true });
}

// Menus are <details>; a click elsewhere or Escape closes them.
const open = () => document.querySelectorAll("details[data-menu][open]");

export function start() {
  document.addEventListener("click", (event) => {
    for (const menu of open()) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of open()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
}

// Menus are <details>; a click elsewhere or Escape closes them.
const open = () => document.querySelectorAll("details[data-menu][open]");

// A link to a place inside a folded part opens it.
function reveal(link) {
  const target = document.getElementById(link.hash.slice(1));
  const part = target?.closest("details");
  if (!part) return;
  part.open = true;
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}

export function start() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash.length > 1) setTimeout(() => reveal(link));
  });
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

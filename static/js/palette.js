// Ctrl+K opens the palette, which is fetched as soon as somebody holds Ctrl or points at its button.
const fetched = () => import("./commands.js").catch(() => null);
const open = async () => (await fetched())?.open();

export function start() {
  window.addEventListener("keydown", (event) => {
    if (event.key === "Control" || event.key === "Meta") fetched();
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    if (!document.querySelector("#palette")) return;
    event.preventDefault();
    open();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette-open]")) open();
  });
}

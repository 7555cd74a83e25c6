// Ctrl+K opens the palette, fetched when Ctrl is held; once here, it opens before the next key.
let commands = null;
const fetched = async () => (commands ??= await import("./commands.js").catch(() => null));
const open = () => (commands ? commands.open() : fetched().then(() => commands?.open()));

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

// Counts down the seconds in which an approval can be taken back, then puts the button away.
import { say } from "./speech.js";

const ends = new WeakMap();

function tick() {
  for (const form of document.querySelectorAll("form[data-undo]")) {
    if (!ends.has(form)) ends.set(form, performance.now() + Number(form.dataset.undo) * 1000);
    const left = Math.ceil((ends.get(form) - performance.now()) / 1000);
    const shown = form.querySelector("[data-undo-left]");
    if (left > 0) {
      if (shown && shown.textContent !== String(left)) shown.textContent = left;
      continue;
    }
    const inside = form.contains(document.activeElement);
    if (inside) (form.parentElement.querySelector("[data-focus]") ?? document.querySelector("h1"))?.focus();
    form.remove();
    say("The time to take it back is over.");
  }
}

export const refresh = tick;

export function start() {
  setInterval(tick, 250);
}

// <button data-copy="text"> or <button data-copy-from="#id">: copies and says so.
import { say } from "./speech.js";

export function start() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-from]");
    if (!button) return;
    const source = button.dataset.copyFrom && document.querySelector(button.dataset.copyFrom);
    const text = source ? source.textContent : button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
      button.dataset.done = "";
      setTimeout(() => delete button.dataset.done, 1500);
    } catch {
      say("The browser did not allow copying.");
    }
  });
}

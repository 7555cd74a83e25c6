// Keys come from data-hotkey marks next to the control, and the "?" sheet is made from the same marks.
import { install, uninstall } from "../vendor/hotkey/hotkey.js";

const installed = new Set();
const stored = "ckptsite-single-keys";

export const singleKeysOn = () => localStorage.getItem(stored) !== "off";
const single = (element) => !/\b(Mod|Control|Alt|Meta)\b/.test(element.dataset.hotkey);
const dialogOpen = () => document.querySelector("dialog[open]") !== null;

const mac = navigator.platform.startsWith("Mac");

export function refresh() {
  if (mac) for (const mark of document.querySelectorAll("[data-send-key]")) mark.textContent = "⌘ ↵";
  for (const element of installed) {
    if (!element.isConnected || (single(element) && !singleKeysOn())) {
      uninstall(element);
      installed.delete(element);
    }
  }
  for (const element of document.querySelectorAll("[data-hotkey]")) {
    if (installed.has(element) || (single(element) && !singleKeysOn())) continue;
    install(element);
    installed.add(element);
  }
}

export function label(element) {
  return element.dataset.hotkeyLabel || element.getAttribute("aria-label") || element.textContent.trim().replace(/\s+/g, " ");
}

const shown = (key) => key.replace("Shift+", "").replace("Mod", mac ? "⌘" : "Ctrl");

// The keys of an element as a person reads them.
export const keysOf = (element) => element.dataset.hotkey.split(",")[0].split(" ").map(shown);

function row(keys, text) {
  const line = document.createElement("div");
  const words = document.createElement("dt");
  words.textContent = text;
  const marks = document.createElement("dd");
  keys.forEach((key, index) => {
    if (index) marks.append(" ");
    const mark = document.createElement("kbd");
    mark.textContent = shown(key);
    marks.append(mark);
  });
  line.append(words, marks);
  return line;
}

function fill(dialog) {
  const rows = [...document.querySelectorAll("[data-hotkey]")].filter((element) => installed.has(element)).map((element) => {
    const keys = element.dataset.hotkey.split(",").filter((key) => key !== "?");
    return row(keys.flatMap((key) => key.split(" ")), label(element));
  });
  if (document.querySelector("#palette")) rows.push(row(["Mod", "k"], "Find a command"));
  if (document.querySelector("[data-cursor]")) rows.push(row(["Enter"], "Open the row"));
  if (document.querySelector("form[data-gate]")) {
    rows.push(row(["End", "a", "…", "Mod", "Enter"], "Approve: read to the end, go to the form, type, send"));
  }
  if (document.querySelector("form[data-submit-key]")) rows.push(row(["Mod", "Enter"], "Send the form you are in"));
  dialog.querySelector("[data-keys-list]").replaceChildren(...rows);
  dialog.querySelector("[data-keys-switch]").checked = singleKeysOn();
}

// An address that ends in the name of a form leads into it, as its key would.
function land() {
  const name = location.hash.slice(1);
  const part = name ? document.getElementById(name) : null;
  const mark = part?.matches("details.way") ? part.querySelector("summary[data-hotkey]") : name === "approve" && document.querySelector("[data-hotkey=a]");
  if (!mark) return;
  if (mark.dispatchEvent(new CustomEvent("hotkey-fire", { cancelable: true, bubbles: true, detail: { path: [] } }))) mark.focus();
}

export function start() {
  window.addEventListener("hashchange", land);
  // Not before: the browser takes the focus to a part that the address names.
  if (document.readyState === "complete") land();
  else window.addEventListener("load", () => setTimeout(land));
  // A summary opens its part and takes the person to the first field; a hotkey never decides anything.
  document.addEventListener("hotkey-fire", (event) => {
    const element = event.target;
    if (element.matches("[data-cursor], [data-row-act]")) return;
    if (element.tagName === "SUMMARY") {
      event.preventDefault();
      const part = element.parentElement;
      part.open = true;
      (part.querySelector("textarea, select, input:not([type=hidden])") ?? element).focus();
    } else if (element.tagName === "FORM") {
      event.preventDefault();
      element.querySelector("textarea, select, input:not([type=hidden])")?.focus();
    } else if (element.type === "radio") {
      event.preventDefault(); // going to the answers chooses none of them
      element.focus();
    } else if (element.matches("form[data-gate] [required]")) {
      const empty = [...element.form.querySelectorAll("[required]")].find((field) => !field.value.trim());
      if (!empty) return;
      event.preventDefault();
      empty.focus();
    }
  }, { capture: true });

  window.addEventListener("keydown", (event) => {
    if (dialogOpen() && !event.target.closest?.("#palette input") && event.key !== "Tab") event.stopPropagation();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const form = event.target.closest?.("form[data-submit-key]");
      if (form) {
        event.preventDefault();
        form.requestSubmit(form.querySelector("[data-main]") ?? form.querySelector("[type=submit]"));
      }
    }
  }, { capture: true });

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-keys-open]");
    const dialog = document.querySelector("#keys");
    if (opener && dialog) {
      fill(dialog);
      dialog.showModal();
    }
    if (event.target.closest("[data-dialog-close]") || event.target === dialog) event.target.closest("dialog")?.close();
  });
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-keys-switch]")) return;
    localStorage.setItem(stored, event.target.checked ? "on" : "off");
    refresh();
    fill(event.target.closest("dialog"));
  });
}

// The palette: everything that a key does on this page, found by typing a few letters of it; it shows the key, to be
// learnt. Fetched when it is first wanted.
import { keysOf, label } from "./keys.js";

const dialog = () => document.querySelector("#palette");
const box = () => dialog().querySelector("input");
const list = () => dialog().querySelector("[role=listbox]");
let opener = null;

function commands() {
  const found = [...document.querySelectorAll("[data-hotkey]")]
    .filter((element) => !element.matches("[data-cursor], [data-palette-open]") && (element.closest(".top [data-menu]") || element.checkVisibility({ visibilityProperty: true })))
    .map((element) => ({ words: label(element), keys: keysOf(element), run: () => fire(element) }));
  const named = new Set(found.map((command) => command.words.toLowerCase()));
  for (const link of document.querySelectorAll("main nav a[href], .page-head a[href], .top [data-menu] a[href]")) {
    const words = link.textContent.trim().replace(/\s+/g, " ");
    if (words && !named.has(words.toLowerCase()) && !link.dataset.hotkey) found.push({ words, keys: [], run: () => link.click() });
    named.add(words.toLowerCase());
  }
  return found;
}

// Does what the key would do: a listener takes it over, a field gets the focus, or a button is pressed.
function fire(element) {
  const path = element.dataset.hotkey.split(",")[0].split(" ");
  const event = new CustomEvent("hotkey-fire", { bubbles: true, cancelable: true, detail: { path } });
  if (!element.dispatchEvent(event)) return;
  if (element.matches("input, select, textarea")) element.focus();
  else element.click();
}

function matches(words, typed) {
  const text = words.toLowerCase();
  return typed.toLowerCase().split(/\s+/).every((part) => text.includes(part));
}

function searches(typed) {
  if (!typed) return [];
  return [...document.querySelectorAll("[data-search]")].map((link) => ({
    words: `${link.dataset.search} “${typed}”`, keys: [],
    run: () => location.assign(`${link.getAttribute("href")}?q=${encodeURIComponent(typed)}`),
  }));
}

function draw() {
  const typed = box().value.trim();
  const shown = [...commands().filter((command) => matches(command.words, typed)), ...searches(typed)].slice(0, 30);
  list().replaceChildren(...shown.map((command, index) => {
    const option = document.createElement("li");
    option.id = `palette-${index}`;
    option.role = "option";
    option.setAttribute("aria-selected", index === 0);
    const words = document.createElement("span");
    words.textContent = command.words;
    option.append(words);
    for (const key of command.keys) {
      const mark = document.createElement("kbd");
      mark.textContent = key;
      option.append(mark);
    }
    option.addEventListener("click", () => choose(command));
    option.command = command;
    return option;
  }));
  dialog().querySelector("[data-palette-none]").hidden = shown.length > 0;
  point(0);
}

function point(at) {
  const options = [...list().children];
  options.forEach((option, index) => option.setAttribute("aria-selected", index === at));
  const chosen = options[at];
  if (chosen) box().setAttribute("aria-activedescendant", chosen.id);
  else box().removeAttribute("aria-activedescendant");
  chosen?.scrollIntoView({ block: "nearest" });
}

function choose(command) {
  opener = null; // the command says where the focus goes
  dialog().close();
  command.run();
}

const heard = new WeakSet();

function listen() {
  if (heard.has(dialog())) return; // a page that came in the place of another brings its own
  heard.add(dialog());
  box().addEventListener("input", draw);
  box().addEventListener("keydown", (event) => {
    const options = [...list().children];
    const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      point((at + step + options.length) % Math.max(options.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (options[at]) choose(options[at].command);
    }
  });
  dialog().addEventListener("close", () => opener?.focus());
}

export function open() {
  if (!dialog() || document.querySelector("dialog[open]")) return;
  listen();
  opener = document.activeElement;
  box().value = "";
  dialog().showModal();
  draw();
}

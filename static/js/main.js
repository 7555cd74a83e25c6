// Everything here is comfort: each page works without it.
import * as cursor from "./cursor.js";
import * as drafts from "./drafts.js";
import * as gate from "./gate.js";
import * as keys from "./keys.js";
import * as live from "./live.js";
import * as menus from "./menus.js";
import * as palette from "./palette.js";
import * as shows from "./shows.js";
import * as speech from "./speech.js";
import * as theme from "./theme.js";
import * as times from "./times.js";

document.documentElement.classList.add("ready"); // early.js has said that there are scripts, before these ran

const modules = [
  cursor,
  drafts,
  gate,
  keys,
  live,
  menus,
  palette,
  shows,
  speech,
  theme,
  times,
];
for (const module of modules) module.start?.();

// What few pages have something for is fetched by those.
const rare = {
  "#decide": () => import("./bar.js"),
  "[data-copy]": () => import("./copy.js"),
  "form[data-fields]": () => import("./fields.js"),
  "form[data-batch], h1[data-focus]": () => import("./pick.js"),
  "form[data-passkey]": () => import("./passkey.js"),
  "[data-plan-list]": () => import("./plan.js"),
  "form[data-undo]": () => import("./undo.js"),
};
async function join(mark) {
  const wanted = rare[mark];
  delete rare[mark];
  try {
    const module = await wanted();
    module.start?.();
    module.refresh?.();
    modules.push(module);
  } catch {
    rare[mark] = wanted; // the page is being left, or the line is down: the next change of the page asks again
  }
}

const refresh = () => {
  for (const mark of Object.keys(rare)) if (document.querySelector(mark)) join(mark);
  for (const module of modules) module.refresh?.();
};
refresh();
document.addEventListener("htmx:after:swap", refresh);

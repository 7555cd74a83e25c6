// Everything here is comfort: each page works without it.
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

const modules = [drafts, gate, keys, live, menus, palette, shows, speech, theme, times];
for (const module of modules) module.start?.();

// What few pages have something for is fetched by those.
const rare = {
  "#decide": () => import("./bar.js"),
  "[data-cursor]": () => import("./cursor.js"),
  "[data-copy]": () => import("./copy.js"),
  "[data-fields]": () => import("./fields.js"),
  "[data-batch], h1[data-focus]": () => import("./pick.js"),
  "[data-passkey]": () => import("./passkey.js"),
  "[data-plan-list]": () => import("./plan.js"),
  "[data-fields], [data-whole]": () => import("./redrawn.js"),
  "[data-undo]": () => import("./undo.js"),
  "[data-whole]": () => import("./whole.js"),
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
    rare[mark] = wanted; // the line is down: the next change asks again
  }
}

const refresh = () => {
  const joining = Object.keys(rare).filter((mark) => document.querySelector(mark)).map(join);
  for (const module of modules) module.refresh?.();
  return Promise.all(joining);
};
refresh().then(() => document.documentElement.classList.add("ready"));
document.addEventListener("htmx:after:swap", refresh);

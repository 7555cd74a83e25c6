// Everything here is comfort: each page works without it.
import * as bar from "./bar.js";
import * as copy from "./copy.js";
import * as cursor from "./cursor.js";
import * as drafts from "./drafts.js";
import * as fields from "./fields.js";
import * as gate from "./gate.js";
import * as keys from "./keys.js";
import * as live from "./live.js";
import * as menus from "./menus.js";
import * as palette from "./palette.js";
import * as pick from "./pick.js";
import * as plan from "./plan.js";
import * as shows from "./shows.js";
import * as speech from "./speech.js";
import * as theme from "./theme.js";
import * as times from "./times.js";
import * as undo from "./undo.js";

document.documentElement.classList.add("js");

const modules = [
  bar,
  copy,
  cursor,
  drafts,
  fields,
  gate,
  keys,
  live,
  menus,
  palette,
  pick,
  plan,
  shows,
  speech,
  theme,
  times,
  undo,
];
for (const module of modules) module.start?.();

const refresh = () => {
  for (const module of modules) module.refresh?.();
};
refresh();
document.addEventListener("htmx:after:swap", refresh);

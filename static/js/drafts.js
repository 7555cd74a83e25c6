// What is typed into a form marked data-keep survives a lost session or a closed tab, and leaving asks first.
let leaving = false;

const forms = () => document.querySelectorAll("form[data-keep]");
const name = (form) => `draft:${form.dataset.keep}`;
const kinds = ["text", "email", "url", "number", "date", "datetime-local", "time", "search"];
// A value that has to be typed again is typed again after a break, too.
const fields = (form) => [...form.querySelectorAll("textarea[name], input[name]:not([name=retype])")]
  .filter((field) => field.localName === "textarea" || kinds.includes(field.type));
const changed = (field) => field.value !== field.defaultValue;
const dirty = (form) => fields(form).some((field) => changed(field) && field.value.trim());
const stored = (form) => JSON.parse(sessionStorage.getItem(name(form)) ?? "{}");

// A form that came back has what was typed as its defaults: what is stored stays.
function keep(form) {
  const values = stored(form);
  for (const field of fields(form)) if (changed(field) || field.name in values) values[field.name] = field.value;
  if (Object.values(values).some((value) => value.trim())) sessionStorage.setItem(name(form), JSON.stringify(values));
  else sessionStorage.removeItem(name(form));
}

// Goes elsewhere without asking: what was typed is kept, and is there again afterwards.
export function leave(address) {
  for (const form of forms()) keep(form);
  leaving = true;
  location.assign(address);
}

export function refresh() {
  for (const form of forms()) {
    const values = stored(form);
    for (const field of fields(form)) if (!changed(field) && values[field.name]) field.value = values[field.name];
  }
}

export function start() {
  document.addEventListener("input", (event) => {
    const form = event.target.closest?.("form[data-keep]");
    if (form) keep(form);
  });
  document.addEventListener("submit", (event) => {
    // What waits until somebody has shown who they are lies with the server now.
    if (event.target.matches("form[data-goes-on]")) sessionStorage.removeItem(sessionStorage.getItem("draft-waits"));
    if (event.target.matches("form[data-keep]")) leaving = !event.target.hasAttribute("hx-post");
  });
  document.addEventListener("htmx:after:request", (event) => {
    const { ctx } = event.detail;
    const form = ctx.sourceElement;
    if (!form?.matches?.("form[data-keep]") || ctx.response.status >= 400) return;
    const login = ctx.hx?.redirect?.includes("next=");
    if (login) sessionStorage.setItem("draft-waits", name(form));
    else sessionStorage.removeItem(name(form));
    leaving = true;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && [...forms()].some(dirty)) event.preventDefault();
  });
}

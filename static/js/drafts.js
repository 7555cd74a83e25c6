// What is typed into a form marked data-keep survives a lost session or a closed tab, and leaving asks first.
let leaving = false;

const forms = () => document.querySelectorAll("form[data-keep]");
const name = (form) => `draft:${form.dataset.keep}`;
const fields = (form) => form.querySelectorAll("textarea[name]");
const dirty = (form) => [...fields(form)].some((field) => field.value !== field.defaultValue && field.value.trim());

function keep(form) {
  const values = Object.fromEntries([...fields(form)].map((field) => [field.name, field.value]));
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
    const values = JSON.parse(sessionStorage.getItem(name(form)) ?? "{}");
    for (const field of fields(form)) if (!field.value && values[field.name]) field.value = values[field.name];
  }
}

export function start() {
  document.addEventListener("input", (event) => {
    const form = event.target.closest?.("form[data-keep]");
    if (form) keep(form);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.matches("form[data-keep]")) leaving = !event.target.hasAttribute("hx-post");
  });
  document.addEventListener("htmx:after:request", (event) => {
    const { ctx } = event.detail;
    const form = ctx.sourceElement;
    if (!form?.matches?.("form[data-keep]") || ctx.response.status >= 400) return;
    const login = ctx.hx?.redirect?.includes("next=");
    if (!login) sessionStorage.removeItem(name(form));
    leaving = true;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && [...forms()].some(dirty)) event.preventDefault();
  });
}

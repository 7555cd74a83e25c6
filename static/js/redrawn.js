// What is typed or chosen while the server draws its form anew goes into the new one, where that has what was sent.
const onOff = (field) => ["checkbox", "radio"].includes(field.type);
const value = (field) => (onOff(field) ? field.checked : field.value);

function fields(form) {
  const found = new Map();
  for (const field of form.elements) {
    if (!field.name || ["hidden", "submit"].includes(field.type)) continue;
    let key = onOff(field) ? `${field.name}=${field.value}` : field.name;
    while (found.has(key)) key += "+";
    found.set(key, field);
  }
  return [...found];
}

let sent;
let late;

function hear(name, act) {
  document.addEventListener(`htmx:${name}`, ({ detail: { ctx: { target } } }) => {
    if (target?.matches?.("[data-fields], [data-whole]")) act(target);
  });
}

export function start() {
  hear("before:request", (form) => {
    sent = new Map(fields(form).map(([key, field]) => [key, value(field)]));
  });
  hear("before:swap", (form) => {
    late = new Map(fields(form).filter(([key, field]) => value(field) !== sent?.get(key)));
  });
  hear("after:swap", ({ id }) => {
    for (const [key, field] of fields(document.getElementById(id))) {
      const old = late.get(key);
      if (!old || value(field) !== sent.get(key)) continue;
      field[onOff(field) ? "checked" : "value"] = value(old);
      for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    }
  });
}

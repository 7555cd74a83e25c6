// Forms made from schemas: another way to give a value draws the form anew, and what is said beside a field marks it.
export function refresh() {
  for (const note of document.querySelectorAll("form[data-fields] .f-note[id$='-note']")) {
    const control = document.getElementById(`f-${note.id.slice(0, -"-note".length)}`);
    if (!control?.matches("input, textarea, select")) continue;
    if (note.querySelector(".error")) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  }
}

export function start() {
  let soon = 0;
  const asked = new WeakMap();
  // What was refused is looked at again while it is put right; everything else when one goes on to the next field.
  document.addEventListener("input", ({ target }) => {
    if (!target.matches("form[data-fields] [aria-invalid]")) return;
    clearTimeout(soon);
    soon = setTimeout(() => {
      asked.set(target, target.value);
      target.dispatchEvent(new Event("change", { bubbles: true }));
    }, 300);
  });
  document.addEventListener("change", (event) => {
    if (!event.isTrusted || !asked.has(event.target)) return;
    if (asked.get(event.target) === event.target.value) event.stopPropagation(); // it was asked about already
    asked.delete(event.target);
  }, { capture: true });
  document.addEventListener("change", (event) => {
    if (!event.target.matches("form[data-fields] select[data-redraw]")) return;
    event.target.parentElement.querySelector(".f-redraw")?.click();
  });
}

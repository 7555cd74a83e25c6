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
  document.addEventListener("change", (event) => {
    if (!event.target.matches("form[data-fields] select[data-redraw]")) return;
    event.target.parentElement.querySelector(".f-redraw")?.click();
  });
}

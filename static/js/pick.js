// Selected rows are counted where something can be done with them; the form works without this.
function count(form) {
  const some = form.querySelectorAll("input[type=checkbox]:checked").length;
  const most = Number(form.dataset.most || some);
  for (const mark of form.querySelectorAll("[data-batch-count]")) mark.textContent = some ? ` (${some})` : "";
  const approve = form.querySelector("button[value=approve]");
  if (approve) approve.disabled = some > most;
  const over = form.querySelector("[data-batch-over]");
  if (over) over.hidden = some <= most;
  const bar = form.querySelector("[data-pick]");
  if (!bar) return;
  bar.toggleAttribute("data-some", some > 0);
  bar.querySelector("[data-pick-words]").textContent = some === 1 ? "1 selected" : `${some} selected`;
}

// A refused answer draws the page again: it tells which parts were unfolded.
function mark(part) {
  const told = part.querySelector(":scope > [data-unfolded]");
  if (told) told.disabled = !part.open;
}

export function refresh() {
  for (const part of document.querySelectorAll("form[data-batch] details")) mark(part);
  for (const form of document.querySelectorAll("form[data-batch]")) count(form);
}

export function start() {
  document.addEventListener("change", (event) => {
    const form = event.target.matches("input[type=checkbox]") && event.target.closest("form[data-batch]");
    if (form) count(form);
  });
  document.addEventListener("click", (event) => {
    const all = event.target.closest("[data-pick-all]");
    if (!all) return;
    const boxes = [...all.closest("form").querySelectorAll("input[name=review]")];
    const on = !boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = on;
    refresh();
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("form[data-batch] details")) mark(event.target);
  }, { capture: true });
  window.addEventListener("pageshow", refresh);
}

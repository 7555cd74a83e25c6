// The plan editor: keys and the mouse press the same buttons that stand beside each step.
const list = () => document.querySelector("[data-plan-list]");
const press = (row, verb) => row?.querySelector(`button[name=do][value^="${verb}:"]`)?.click();

let asked; // the sorting library, fetched once
function sorter(source) {
  asked ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = source;
    script.addEventListener("load", () => done(window.Sortable));
    document.head.append(script);
  });
  return asked;
}

// A copy of what a script has styled brings the style as text, which the page forbids.
function copy(item, deep) {
  const kept = item.style.cssText;
  item.removeAttribute("style");
  const made = Node.prototype.cloneNode.call(item, deep);
  item.style.cssText = kept;
  return made;
}

async function sortable(steps) {
  steps.dataset.sorted = "soon";
  const Sortable = await sorter(steps.dataset.sorter);
  if (!steps.isConnected) return;
  Sortable.create(steps, {
    handle: ".grip",
    draggable: "[data-row]",
    animation: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 120,
    onChoose: ({ item }) => { item.cloneNode = (deep) => copy(item, deep); },
    onEnd: (event) => {
      if (event.oldIndex === event.newIndex) return;
      const form = steps.closest("form");
      form.querySelector("[data-plan-order]").value = [...steps.querySelectorAll("[data-row]")].map((row) => row.dataset.id).join("\n");
      form.requestSubmit(form.querySelector("[data-plan-reorder]"));
    },
  });
  steps.dataset.sorted = "yes";
}

export function refresh() {
  const steps = list();
  if (steps && !("sorted" in steps.dataset)) sortable(steps);
}

export function start() {
  document.addEventListener("hotkey-fire", (event) => {
    const verb = event.target.dataset.planKey;
    if (!verb) return;
    event.preventDefault();
    press(document.activeElement?.closest("[data-plan-list] [data-row]"), verb);
  }, { capture: true });
  document.addEventListener("keydown", (event) => {
    // Enter in a field is for its step, never for the whole plan.
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || !event.target.matches?.("[data-plan-fields] input")) return;
    event.preventDefault();
    event.target.closest("[data-plan-fields]").querySelector("[data-plan-apply]").click();
  });
  document.addEventListener("change", (event) => {
    // Back from the text: the list shows what the text says.
    if (!event.target.matches("input[name=tab][value=steps]")) return;
    const text = document.querySelector("#f-steps");
    if (text && text.value !== text.defaultValue) document.querySelector("[data-plan-check]").click();
  });
}

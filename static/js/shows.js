// On a narrow screen the tab that one is on is brought into sight, once for each.
const sighted = new WeakMap();

// A radio button with data-shows="id" shows that part and hides those of its neighbours.
export function refresh() {
  for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
    const row = tab.closest(".tabs");
    if (sighted.get(row) === tab.href) continue;
    sighted.set(row, tab.href);
    const [here, all] = [tab.getBoundingClientRect(), row.getBoundingClientRect()];
    if (here.left < all.left || here.right > all.right) row.scrollLeft += here.left - all.left - (all.width - here.width) / 2;
  }
  for (const choice of document.querySelectorAll("input[type=radio][data-shows]")) {
    const part = document.getElementById(choice.dataset.shows);
    if (part) part.hidden = !choice.checked;
  }
}

export function start() {
  document.addEventListener("change", (event) => {
    if (event.target.matches("input[type=radio][data-shows]")) refresh();
  });
}

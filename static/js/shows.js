// The tab that one is on comes into sight, once.
let sighted;

// A radio button with data-shows="id" shows that part and hides those of its neighbours.
export function refresh() {
  const tab = document.querySelector(".tabs [aria-current]");
  if (tab && sighted !== tab.href) tab.scrollIntoView({ block: "nearest", inline: "center" });
  sighted = tab?.href;
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

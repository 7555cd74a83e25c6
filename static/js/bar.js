// The bar at the foot of a narrow window leads to the decision, and steps aside while the decision is on the screen.
let observer;
let watched;

export function refresh() {
  const card = document.querySelector("#decide");
  if (card === watched) return;
  observer?.disconnect();
  watched = card;
  if (card) observer?.observe(card);
}

export function start() {
  observer = new IntersectionObserver((entries) => {
    document.querySelector("[data-decide-bar]")?.toggleAttribute("data-away", entries.at(-1).isIntersecting);
  }, { rootMargin: "0px 0px -64px 0px" });
}

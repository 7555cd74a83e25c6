// Light, dark or as the system has it; in a cookie, so that the server draws the page right.
function chosen() {
  return document.documentElement.dataset.theme || "system";
}

export function refresh() {
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.setAttribute("aria-pressed", String(button.dataset.themeChoice === chosen()));
  }
}

export function start() {
  document.addEventListener("click", (event) => {
    const choice = event.target.closest("[data-theme-choice]")?.dataset.themeChoice;
    if (!choice) return;
    if (choice === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
    const age = choice === "system" ? 0 : 31536000;
    const secure = location.protocol === "https:" ? ";secure" : "";
    document.cookie = `theme=${choice};path=/;max-age=${age};samesite=lax${secure}`;
    refresh();
  });
}

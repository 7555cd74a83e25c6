// Keeps "5 min. ago" true while the page is open; what the times say first is early.js's work.
export const refresh = () => window.tellTimes();

export function start() {
  setInterval(() => document.hidden || refresh(), 15_000);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
}

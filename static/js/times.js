// <time data-relative>: "5 min. ago" in place of the exact time, which moves into the title in local time.
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const language = document.documentElement.lang || "en";
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat(language, { dateStyle: "medium" });

export function words(moment, now = Date.now()) {
  const seconds = Math.round((moment - now) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return relative.format(0, "second");
  if (size > 7 * 86400) return day.format(moment);
  const [unit, length] = units.find(([, unitLength]) => size >= unitLength);
  return relative.format(Math.round(seconds / length), unit);
}

export function refresh() {
  for (const element of document.querySelectorAll("time[data-relative]")) {
    const moment = new Date(element.dateTime);
    if (Number.isNaN(moment.valueOf())) continue;
    const text = words(moment);
    if (element.textContent !== text) element.textContent = text;
    element.title = exact.format(moment);
  }
}

export function start() {
  setInterval(() => document.hidden || refresh(), 15_000);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
}

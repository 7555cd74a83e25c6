// Runs before anything is drawn, so that nothing moves afterwards: what needs scripts has its place, and
// <time data-relative> says "5 min. ago" from the start; the exact time moves into the title, in local time.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const language = root.lang || "en";
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  const exact = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
  const day = new Intl.DateTimeFormat(language, { dateStyle: "medium" });

  function words(moment, now) {
    const seconds = Math.round((moment - now) / 1000);
    const size = Math.abs(seconds);
    if (size < 5) return relative.format(0, "second");
    if (size > 7 * 86400) return day.format(moment);
    const [unit, length] = units.find(([, unitLength]) => size >= unitLength);
    return relative.format(Math.round(seconds / length), unit);
  }

  window.tellTimes = () => {
    const now = Date.now();
    for (const element of document.querySelectorAll("time[data-relative]")) {
      const moment = new Date(element.dateTime);
      if (Number.isNaN(moment.valueOf())) continue;
      const text = words(moment, now);
      if (element.textContent !== text) element.textContent = text;
      element.title = exact.format(moment);
    }
  };

  const parsing = new MutationObserver(window.tellTimes);
  parsing.observe(root, { childList: true, subtree: true });
  document.addEventListener("DOMContentLoaded", () => {
    parsing.disconnect();
    window.tellTimes();
  });
})();

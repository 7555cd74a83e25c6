"""Pages in a browser: the largest paint, and the answer to keys and tabs; also slowed down, and over a slow line."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

from tests.bench import desk
from tests.browser import chromium

SLOW_LINE = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}
_PAINT = """() => new Promise((done) => {
  new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
    .observe({ type: "largest-contentful-paint", buffered: true });
  setTimeout(() => done(0), 3000);
})"""
_LISTEN = """() => {
  window.answers = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.interactionId) window.answers.push(entry.duration);
  }).observe({ type: "event", durationThreshold: 16 });
}"""


def measure(url: str, *, review: str, run: str) -> dict[str, Any]:
    """Return what somebody sees who has these two pages open."""
    with browsing(url) as (page, line):
        answers = [answer(page, url, run) for _ in range(3)]
        with slowed(line):
            paints = {path: paint(page, url, path) for path in ("/inbox/", review, run)}
            slow_answers = [answer(page, url, run) for _ in range(3)]
        line.send("Network.enable")
        line.send("Network.clearBrowserCache")
        line.send("Network.emulateNetworkConditions", SLOW_LINE)
        far = {path: paint(page, url, path) for path in ("/inbox/", review)}
    return {
        "largest_paint_slow_processor_ms": max(paints.values()),
        "largest_paint_slow_line_ms": max(far.values()),
        "key_or_tab_ms": statistics.median(answers),
        "key_or_tab_slow_processor_ms": statistics.median(slow_answers),
    }


@contextmanager
def browsing(url: str) -> Iterator[tuple[Page, CDPSession]]:
    """Give a signed-in reviewer's page, and the line to its browser."""
    with sync_playwright() as started:
        program = chromium.path(started.chromium.executable_path)
        browser = started.chromium.launch(executable_path=program, args=chromium.ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{url.rstrip('/')}/login/")
        page.fill("[name=username]", "reviewer")
        page.fill("[name=password]", desk.PASSWORD)
        page.click("main [type=submit]")
        page.wait_for_url("**/inbox/**")
        yield page, page.context.new_cdp_session(page)
        browser.close()


@contextmanager
def slowed(line: CDPSession) -> Iterator[None]:
    """Let the browser's processor be four times as slow meanwhile."""
    line.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    yield
    line.send("Emulation.setCPUThrottlingRate", {"rate": 1})


def paint(page: Page, url: str, path: str) -> float:
    """Return when the largest thing of a page was painted, in ms, the middle of three visits."""
    found = []
    for _ in range(3):
        page.goto(f"{url.rstrip('/')}{path}")
        found.append(float(page.evaluate(_PAINT)))
    return statistics.median(found)


def answer(page: Page, url: str, run: str) -> float:
    """Return the slowest answer on the screen to a key in the inbox, or to a tab of a run; what needs less is 16 ms."""

    def after(path: str, act: Callable[[], None]) -> float:
        page.goto(f"{url.rstrip('/')}{path}")
        page.wait_for_function("document.documentElement.classList.contains('ready')")
        page.evaluate(_LISTEN)
        act()
        page.wait_for_timeout(300)
        return float(page.evaluate("Math.max(16, ...window.answers)"))

    def keys() -> None:
        for key in "jjjkk":
            page.keyboard.press(key)
            page.wait_for_timeout(50)

    def tabs() -> None:
        for name in ("Plan", "Effects"):
            page.get_by_role("link", name=name, exact=True).last.click()
            page.wait_for_timeout(200)

    return max(after("/inbox/", keys), after(run, tabs))

"""Another reviewer, in a browser, whose screen is watched for what somebody else has decided."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from tests.browser import chromium

_WATCH = """() => {
  const shown = () => ["#queue-count", "#news"].map((place) => document.querySelector(place)?.textContent).join("|");
  let last = shown();
  window.changes = [];
  new MutationObserver(() => {
    const now = shown();
    if (now !== last) window.changes.push(Date.now() / 1000);
    last = now;
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


class Screen:
    """The inbox of somebody who only looks."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.evaluate(_WATCH)

    def changed_after(self, moment: float, *, within: float = 10.0) -> float:
        """Return after how many seconds the screen first showed another count or news."""
        end = time.time() + within
        while time.time() < end:
            for change in self._page.evaluate("window.changes"):
                if change >= moment:
                    return float(change) - moment
            self._page.wait_for_timeout(20)
        raise TimeoutError("The other screen showed nothing new.")


@contextmanager
def inbox(url: str, name: str, password: str) -> Iterator[Screen]:
    """Give the open inbox of a signed-in person, once it hears of changes."""
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=chromium.path(started.chromium.executable_path), args=chromium.ARGUMENTS
        )
        page = browser.new_page()
        page.goto(f"{url.rstrip('/')}/login/")
        page.fill("[name=username]", name)
        page.fill("[name=password]", password)
        page.click("main [type=submit]")
        page.wait_for_url("**/inbox/**")
        page.wait_for_selector("[data-live-state][data-state=live]")
        yield Screen(page)
        browser.close()

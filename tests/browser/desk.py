"""A browser at the review desk: signed in, watched for every error, checked with axe."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import connections
from django.http import HttpResponse
from playwright.sync_api import BrowserContext, Locator, Page, Route, ViewportSize, expect

from runs import models
from runs.models.session import SessionStore

AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OF_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules whose answer depends on the colours; all others are the same in light and dark."""
OF_SIZE = (
    *OF_COLOURS,
    "target-size",
    "scrollable-region-focusable",
    "heading-order",
    "empty-heading",
    "region",
)
"""The rules whose answer depends on what a narrow window folds away or pushes together."""
NO_MOUSE = "addEventListener('pointerdown', () => console.error('the mouse was used'), {capture: true})"
PRESSED = """() => {
  const heard = [], found = [];
  const listen = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    heard.push(event.target);
  };
  const press = (key) => {
    const shiftKey = key === "?" || /^[A-Z]$/.test(key);
    document.body.dispatchEvent(new KeyboardEvent("keydown", {key, shiftKey, bubbles: true, cancelable: true}));
  };
  const listening = (path) => {
    press("F24");  // no row of keys is begun
    path.forEach(press);
    return heard.splice(0)[0];
  };
  const keys = Array.from({length: 94}, (_, at) => String.fromCharCode(33 + at));
  keys.push("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "PageDown", "Delete");
  document.activeElement?.blur();  // keys rest while somebody types
  window.addEventListener("hotkey-fire", listen, {capture: true});
  const bound = new Map();
  for (const path of [...keys.map((key) => [key]), ...keys.map((key) => ["g", key])]) {
    const mark = listening(path);
    if (mark) bound.set(mark, [...bound.get(mark) ?? [], ...path]);
  }
  window.removeEventListener("hotkey-fire", listen, {capture: true});
  return [...bound.values()].map((keys) => keys.sort().join(" ")).sort();
}"""
"""Presses every key there is, alone and after g, and tells which are heard, a line for each that hears some."""
LISTED = """() => [...document.querySelectorAll("#keys [data-keys-list] dd")]
  .map((line) => [...line.querySelectorAll("kbd")].map((key) => key.textContent))
  .filter((keys) => !keys.some((key) => ["Ctrl", "Enter", "End"].includes(key)))
  .map((keys) => keys.sort().join(" ")).sort()"""
"""What the sheet lists of single keys."""
READY = "html.ready, html:not(.js), html:not(:has(script[type=module]))"
"""A page whose scripts hear keys, or that has none."""
EXPECTED = re.compile(r"status of (401|409|422)")
"""Chromium logs each 4xx answer as an error; these are part of the work."""


@dataclass
class Desk:
    """One page of a context, and what went wrong on it."""

    server: str
    context: BrowserContext
    page: Page
    problems: list[str] = field(default_factory=list)
    expected: re.Pattern[str] = EXPECTED
    styles: set[str] = field(default_factory=set)
    """The style sheets that axe has read; reading them anew takes a fifth of its time."""

    def sign_in(self, user: models.User) -> None:
        """Be signed in as `user` from the next request on."""
        _sign_in(self.server, self.context, user)

    def go(self, path: str) -> Page:
        """Return the page at `path`, loaded."""
        response = self.page.goto(f"{self.server}{path}")
        assert response is not None
        assert response.status < 500, response.status
        there(self.page)
        return self.page

    def read(self) -> None:
        """Go to the end of the arguments by key, and see that an approval is open then."""
        self.page.keyboard.press("End")
        expect(self.page.locator("form[data-gate] [type=submit]")).not_to_have_attribute(
            "aria-disabled", "true"
        )

    def violations(self, *, rules: tuple[str, ...] = ()) -> list[str]:
        """Return what axe-core finds on the whole page; a bar that sticks to the window's edge covers nothing then.

        With `rules` only these are looked at.
        """
        size = self.page.viewport_size
        assert size is not None
        height: int = self.page.evaluate("document.documentElement.scrollHeight")
        self.page.set_viewport_size({"width": size["width"], "height": max(height + 50, size["height"])})
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        styles = set(self.page.evaluate("[...document.styleSheets].map(sheet => sheet.href)"))
        only = {"type": "rule", "values": list(rules)} if rules else {"type": "tag", "values": TAGS}
        found: dict[str, Any] = self.page.evaluate(
            "([only, preload]) => axe.run(document, {runOnly: only, preload, resultTypes: ['violations']})",
            [only, not rules and not styles <= self.styles],
        )
        self.styles |= set() if rules else styles
        self.page.set_viewport_size(size)
        return [
            f"{item['id']}: {node['target']} {node['failureSummary']}"
            for item in found["violations"]
            for node in item["nodes"]
        ]

    @contextmanager
    def phone(self, size: ViewportSize) -> Iterator[None]:
        """While this lasts, the window is one of this size that is touched."""
        before = self.page.viewport_size
        assert before is not None
        touch = self.context.new_cdp_session(self.page)
        touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        self.page.set_viewport_size(size)
        assert self.page.evaluate("matchMedia('(pointer: coarse)').matches")
        yield
        touch.detach()
        self.page.set_viewport_size(before)

    def keys(self) -> tuple[list[str], list[str]]:
        """Return the single keys that the page listens to, and those that its sheet lists."""
        heard: list[str] = self.page.evaluate(PRESSED)
        self.page.keyboard.press("?")
        listed: list[str] = self.page.evaluate(LISTED)
        self.page.keyboard.press("Escape")
        return heard, listed

    def press(self, *keys: str) -> None:
        """Press these keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def send(self, words: str) -> None:
        """Type the words into the field that has the focus, and send its form."""
        self.page.keyboard.type(words)
        self.press("Control+Enter")

    def tab_to(self, wanted: Locator, *then: str, back: bool = False) -> None:
        """Press Tab until the control has the focus, and then these keys."""
        for _ in range(80):
            if wanted.evaluate("control => control === document.activeElement"):
                break
            self.press("Shift+Tab" if back else "Tab")
        expect(wanted).to_be_focused()
        self.press(*then)

    def shown(self, name: str, answer: HttpResponse) -> str:
        """Return an address at which this browser finds an answer that somebody else was given."""
        headers = {key: value for key, value in answer.items() if key.lower() not in {"vary", "location"}}
        body, path = answer.content.decode(), f"/shown/{answer.status_code}/{name}/"

        def give(route: Route) -> None:
            route.fulfill(status=answer.status_code, headers=headers, body=body)

        self.page.route(f"{self.server}{path}", give)
        return path

    def sideways(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        wide: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wide


@contextmanager
def aside() -> Iterator[None]:
    """While this lasts, Django's client can be used: it makes a loop of its own, where Playwright's stands already."""
    loop = asyncio.get_running_loop()
    asyncio.events._set_running_loop(None)
    try:
        yield
    finally:
        connections.close_all()
        asyncio.events._set_running_loop(loop)


def sit_down(server: str, context: BrowserContext, user: models.User | None) -> Desk:
    """Return a desk at which `user` is signed in."""
    if user is not None:
        _sign_in(server, context, user)
    page = context.new_page()
    _patient(page)
    desk = Desk(server=server, context=context, page=page)
    page.on("pageerror", lambda error: desk.problems.append(f"{page.url}: {error}"))
    page.on("console", lambda message: _heard(desk, message.type, message.text))
    page.on("requestfailed", lambda request: _failed(desk, request.url, request.failure or ""))
    return desk


def there(page: Page) -> None:
    """Wait until the scripts of a page hear what is pressed; whoever looks at it takes longer."""
    page.locator(READY).wait_for(state="attached")


def _patient(page: Page) -> None:
    """Let nothing be pressed or typed before the page is there."""

    def after(act: Callable[..., None]) -> Callable[..., None]:
        def wait(*what: Any, **how: Any) -> None:
            there(page)
            act(*what, **how)

        return wait

    keyboard: Any = page.keyboard
    keyboard.press, keyboard.type = after(keyboard.press), after(keyboard.type)


def _sign_in(server: str, context: BrowserContext, user: models.User) -> None:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    context.add_cookies(
        [{"name": settings.SESSION_COOKIE_NAME, "value": str(session.session_key), "url": server}]
    )


def _heard(desk: Desk, kind: str, text: str) -> None:
    if kind in {"error", "warning"} and not desk.expected.search(text):
        desk.problems.append(f"{desk.page.url}: {kind}: {text}")


def _failed(desk: Desk, url: str, why: str) -> None:
    if "ERR_ABORTED" not in why:  # leaving a page ends its stream
        desk.problems.append(f"{url}: {why}")

"""A browser at the review desk: signed in, watched for every error, checked with axe."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from playwright.sync_api import BrowserContext, Page

from runs import models

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

    def sign_in(self, user: models.User) -> None:
        """Be signed in as `user` from the next request on."""
        _sign_in(self.server, self.context, user)

    def go(self, path: str) -> Page:
        """Return the page at `path`, loaded."""
        response = self.page.goto(f"{self.server}{path}")
        assert response is not None
        assert response.status < 500, response.status
        return self.page

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
        found: dict[str, Any] = self.page.evaluate(
            "only => axe.run(document, {runOnly: only, resultTypes: ['violations']})",
            {"type": "rule", "values": list(rules)} if rules else {"type": "tag", "values": TAGS},
        )
        self.page.set_viewport_size(size)
        return [
            f"{item['id']}: {node['target']} {node['failureSummary']}"
            for item in found["violations"]
            for node in item["nodes"]
        ]

    def sideways(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        wide: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wide


def sit_down(server: str, context: BrowserContext, user: models.User | None) -> Desk:
    """Return a desk at which `user` is signed in."""
    if user is not None:
        _sign_in(server, context, user)
    page = context.new_page()
    desk = Desk(server=server, context=context, page=page)
    page.on("pageerror", lambda error: desk.problems.append(f"{page.url}: {error}"))
    page.on("console", lambda message: _heard(desk, message.type, message.text))
    page.on("requestfailed", lambda request: _failed(desk, request.url, request.failure or ""))
    return desk


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

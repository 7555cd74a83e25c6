"""Chromium for the browser tests; pages come from the `asgi_server` fixture."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Playwright

from runs import models
from tests import factories
from tests.browser import chromium
from tests.browser import desk as desks
from tests.engine.conftest import fresh_world

__all__ = ["fresh_world"]

# Playwright's loop stays in the main thread, where Django would refuse each query of the tests and of their teardown.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: where Playwright's loop runs, no other test can run a loop of its own."""
    items.sort(key=lambda item: item.path.is_relative_to(HERE))


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: dict[str, Any], playwright: Playwright
) -> dict[str, Any]:
    """How pytest-playwright starts the browser."""
    try:
        program = chromium.path(playwright.chromium.executable_path)
    except chromium.MissingError as error:
        pytest.fail(str(error), pytrace=False)
    return {**browser_type_launch_args, "executable_path": program, "args": chromium.ARGUMENTS}


@pytest.fixture
def who(transactional_db: None) -> factories.People:
    """One person of each role."""
    return factories.people()


@pytest.fixture
def house(who: factories.People) -> factories.House:
    """A run in each state."""
    return factories.house(who)


@pytest.fixture
def sit(asgi_server: str, browser: Browser) -> Iterator[Callable[..., desks.Desk]]:
    """Sit somebody down at a desk; at the end nothing may have gone wrong on any of them."""
    made: list[desks.Desk] = []

    def at(user: models.User | None = None, **options: Any) -> desks.Desk:
        context = browser.new_context(**options)
        context.set_default_timeout(15_000)
        desk = desks.sit_down(asgi_server, context, user)
        made.append(desk)
        return desk

    yield at
    problems = [problem for desk in made for problem in desk.problems]
    for desk in made:
        desk.context.close()
    assert problems == []

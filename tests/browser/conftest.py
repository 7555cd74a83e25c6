"""Chromium for the browser tests; pages come from the `asgi_server` fixture."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Browser, Playwright, expect

from runs import models
from tests import factories
from tests.browser import chromium
from tests.browser import desk as desks
from tests.engine.conftest import fresh_world

__all__ = ["fresh_world"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser's frames and focus come when the machine has time: one second try, and the summary names it."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=1))


expect.set_options(timeout=15_000)  # a busy machine is slow, not wrong

# Playwright's loop stays in the main thread, where Django would refuse each query of the tests and of their teardown.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


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


@pytest.fixture(scope="session")
def loop_of_playwright(browser: Browser) -> Iterator[asyncio.AbstractEventLoop]:
    """The loop that Playwright leaves running in this thread, there again when the browser is closed."""
    loop = asyncio.get_running_loop()
    yield loop
    asyncio.events._set_running_loop(loop)


@pytest.fixture(autouse=True)
def only_here(loop_of_playwright: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Playwright's loop runs in browser tests only: beside it no other test could run a loop of its own."""
    asyncio.events._set_running_loop(loop_of_playwright)
    yield
    connections.close_all()  # beside a loop Django keeps connections of their own
    asyncio.events._set_running_loop(None)


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
    """Sit somebody down at a desk, or at one that has no mouse; at the end nothing may have gone wrong on any."""
    made: list[desks.Desk] = []

    def at(user: models.User | None = None, *, mouse: bool = True, **options: Any) -> desks.Desk:
        context = browser.new_context(**options)
        context.set_default_timeout(15_000)
        if not mouse:
            context.add_init_script(desks.NO_MOUSE)
        desk = desks.sit_down(asgi_server, context, user)
        made.append(desk)
        return desk

    yield at
    problems = [problem for desk in made for problem in desk.problems]
    for desk in made:
        desk.context.close()
    assert problems == []

"""Chromium for the browser tests; pages come from the `asgi_server` fixture."""

import os
from typing import Any

import pytest
from playwright.sync_api import Playwright

from tests.browser import chromium

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

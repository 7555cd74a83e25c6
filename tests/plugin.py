"""Loaded by pytest before Django (see addopts): starts the servers and leads each process there."""

import atexit
import os
from collections.abc import Iterator

import pytest

from tests import servers

_started: list[servers.Servers] = []


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """pytest-django loads the settings in this hook, so the environment must stand before it."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    options = early_config.known_args_namespace
    if not worker and not options.help and not options.version:
        both = servers.Servers()
        _started.append(both)
        atexit.register(both.stop)
        both.start()
    if servers.DATA in os.environ:
        servers.enter(worker=worker)
    yield


def pytest_unconfigure() -> None:
    """Only the process that started the servers stops them."""
    while _started:
        _started.pop().stop()

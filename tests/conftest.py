"""Fixtures for every test. The servers themselves come from tests/plugin.py."""

import asyncio
import contextlib
import fcntl
import gc
import os
import socket
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest
import uvicorn
from django.conf import settings
from django.contrib.auth import hashers
from django.core import management
from django.db import connection
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker
from servestatic.middleware import ServeStaticMiddleware

from runs.engine import outside
from tests import fresh, servers, waiting
from tests.engine import lock_order, locks

# How long an example takes says how busy the machine is, nothing about what is tested.
hypothesis_settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("busy")

LONG = ("harness", "kills", "browser", "services")
"""Folders whose files take long."""
LONGEST = "test_crash.py"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first, the longest before all, so that both workers end together."""
    items.sort(key=lambda item: (item.path.name != LONGEST, item.path.parent.name not in LONG))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Hardly anything of what is loaded for the tests is garbage: the collector takes a break."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """What is loaded by now stays for good: the collector needs not walk over it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def static_files() -> None:
    """The collected static files, made by the first worker that needs them and shared by all."""
    root = Path(settings.STATIC_ROOT)
    shared = root.parent.parent / "static"
    shared.mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        root.symlink_to(shared)
    with (shared.parent / "static.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "staticfiles.json").exists():
            management.call_command("collectstatic", interactive=False, verbosity=0)


@pytest.fixture(scope="session", autouse=True)
def static_files_are_read_once() -> Iterator[None]:
    """Each test's client has middleware of its own, which read all static files anew: a quarter of the page tests."""
    read = ServeStaticMiddleware.add_files_from_manifest
    known: dict[str, Any] = {}

    def once(self: ServeStaticMiddleware) -> None:
        if not known:
            read(self)
            known.update(files=dict(self.files), directories=list(self.directories))
        self.files, self.directories = dict(known["files"]), list(known["directories"])

    with mock.patch.object(ServeStaticMiddleware, "add_files_from_manifest", once):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """The worker's database is a copy of one that has been migrated already."""
    with django_db_blocker.unblock():
        found = fresh.template(Path(os.environ[servers.DATA]))
    connection.settings_dict["TEST"]["TEMPLATE"] = found


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A test that commits leaves the database as it was made."""
    with django_db_blocker.unblock():
        with fresh.kept():
            yield
        fresh.left()


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """A password is hashed as ever, but not a million times over."""
    with mock.patch.object(hashers.PBKDF2PasswordHasher, "iterations", 100):
        yield


@pytest.fixture(scope="session", autouse=True)
def everything_watched() -> None:
    """In no test is a model or tool called with a lock held, and no row is locked out of order."""
    lock_order.everywhere()
    outside.watch(locks.none_held)


@pytest.fixture(autouse=True)
def nothing_locked_wrongly() -> Iterator[None]:
    """A wrong order, or a lock held at a call, fails the test in which it was seen, in whatever thread."""
    yield
    wrong = lock_order.taken()
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def child_environment(transactional_db: None) -> dict[str, str]:
    """Environment for a process of the product that works on this test's database and Valkey."""
    name = connection.settings_dict["NAME"]
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}")
    return {**os.environ, "DATABASE_URL": url.geturl(), "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def asgi_server(transactional_db: None) -> Iterator[str]:
    """The address of the whole site, served by uvicorn in a thread: pages, streams and static files."""
    from ckptsite import asgi

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(
            uvicorn.Config(
                asgi.application, lifespan="off", ws="none", log_config=None, timeout_graceful_shutdown=1
            )
        )
        thread = threading.Thread(target=asyncio.run, args=[server.serve([listener])], daemon=True)
        thread.start()
        waiting.until(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()

"""People and runs, and the servers outside that take notices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.engine.conftest import fresh_world
from tests.notices.outside import Post, Receiver
from tests.pages.conftest import As, as_, empty_cache, who

__all__ = ["As", "as_", "empty_cache", "fresh_world", "who"]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """An HTTP server of its own that may be posted to."""
    import ipaddress

    settings.CKPTSITE_OUTGOING = [ipaddress.ip_network("127.0.0.0/8")]
    server = Receiver()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def post(settings: Settings) -> Iterator[Post]:
    """A mail server of its own, named in the settings."""
    server = Post()
    server.start()
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.DEFAULT_FROM_EMAIL = "ckptsite <desk@example.com>"
    yield server
    server.stop()

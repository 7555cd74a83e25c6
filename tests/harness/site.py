"""Where trials take place: a PostgreSQL of their own, one database for each stage, one world, and the people."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from ckptsite.services import postgres
from tests import fresh, servers
from tests.harness.world import PACE, World

TIMES = {
    "LEASE": 0.8, "HEARTBEAT": 0.25, "MARGIN": 0.2, "SLICE": 5, "READ_TIMEOUT": 2, "EFFECT_TIMEOUT": 0.8,
    "MODEL_TIMEOUT": 2, "SETTLE": 0.6,
}  # fmt: skip
"""Times in which nothing waits for long, for processes that needn't share their processors with others."""
SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "ckptsite.settings",
    "CKPTSITE_POISON": "20",
    "CKPTSITE_ROLE": "worker",
    "CKPTSITE_IDLE_TIMEOUT": "60",
    "CKPTSITE_STATEMENT_TIMEOUT": "60",
    "LOG_LEVEL": "ERROR",
}
PATIENCE = {"idle_in_transaction_session_timeout": 1.2, "lock_timeout": 5}
"""Who is frozen with locks in hand loses them before those lose patience who wait for them."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """What a process needs to know to play trials."""

    folder: Path

    def world(self) -> World:
        """Return the world, seen from outside."""
        return World(self.folder)

    def enter(self, name: str) -> None:
        """Lead this process, which was forked and has no connection, to a new database of this name."""
        from django.conf import settings
        from django.db import connections

        from tests.harness import acts

        _copy(settings.DATABASES["default"]["NAME"], name)
        settings.DATABASES["default"]["NAME"] = name
        settings.CKPTSITE_DATA = self.folder / name  # where the last intent of this database is kept
        settings.CKPTSITE_DATA.mkdir()
        given_settings = connections["default"].settings_dict
        given_settings["NAME"] = name
        given_settings["OPTIONS"]["options"] += "".join(
            f" -c {setting}={seconds * PACE * 1000:.0f}" for setting, seconds in PATIENCE.items()
        )
        acts.quiet()

    def leave(self) -> None:
        """Drop the database that was entered; whoever is still connected to it is put out."""
        from django.conf import settings
        from django.db import connections

        connections.close_all()
        _drop(settings.DATABASES["default"]["NAME"])


@contextlib.contextmanager
def standing() -> Iterator[Site]:
    """Give a site whose servers, template database, people and world stand while the block runs.

    Within a test session its PostgreSQL is used; otherwise one is started.
    """
    with contextlib.ExitStack() as stack:
        if servers.DATA not in os.environ:
            both = servers.Servers()
            stack.callback(both.stop)
            both.start()
        servers.enter(worker="")
        os.environ.update({f"CKPTSITE_{name}": f"{seconds * PACE:g}" for name, seconds in TIMES.items()})
        os.environ.update(SETTINGS, CKPTSITE_HARNESS_PACE=str(PACE))
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="ckptsite-harness-", ignore_cleanup_errors=True)
        )
        world = World(Path(folder))
        os.environ["CKPTSITE_HARNESS_WORLD"] = world.path
        world.start()
        stack.callback(world.stop)
        name = f"harness_{os.getpid()}"
        _furnish(name)
        stack.callback(_drop, name)
        yield Site(folder=Path(folder))


def _furnish(name: str) -> None:
    """Make tables, people and the agent in the database that all others are copied from."""
    import django

    django.setup()
    from django.conf import settings
    from django.db import connections

    from tests.harness import people

    _copy(fresh.template(Path(os.environ[servers.DATA])), name)
    settings.DATABASES["default"]["NAME"] = connections["default"].settings_dict["NAME"] = name
    people.make()
    connections.close_all()


def _copy(template: str, name: str) -> None:
    make = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    with _server() as server:
        server.execute(make)


def _drop(name: str) -> None:
    with _server() as server:
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextlib.contextmanager
def _server() -> Iterator[psycopg.Connection]:
    with postgres.connect(os.environ["DATABASE_URL"], dbname="postgres", timeout=30) as server:
        server.autocommit = True
        yield server

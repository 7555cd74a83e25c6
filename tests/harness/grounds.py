"""Where real processes are struck: a site in a folder of its own, with a world beside it, on times that are short."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.harness import nemesis, world

_SECONDS = {
    "LEASE": 3, "HEARTBEAT": 0.5, "MARGIN": 1, "CLOCK": 0.3, "SLICE": 5, "READ_TIMEOUT": 5, "EFFECT_TIMEOUT": 3,
    "MODEL_TIMEOUT": 5, "SETTLE": 0.5, "UNDO_WINDOW_1": 0, "UNDO_WINDOW_2": 0, "UNDO_WINDOW_3": 0, "IDLE_TIMEOUT": 60,
}  # fmt: skip
TIMES = {f"CKPTSITE_{name}": str(seconds) for name, seconds in _SECONDS.items()} | {"LOG_LEVEL": "WARNING"}


def on_a_site(root: Path, act: Callable[[nemesis.Site, world.World, Path], dict[str, Any]]) -> dict[str, Any]:
    """Return what is found on a site in this folder, with a world beside it: it is ended whatever runs then."""
    from ckptsite.services import folder as folders
    from tests.harness import apps, tools, world

    place = folders.Folder(root / "data")
    folders.make(place)
    inside, outside = root / "inside", world.World(root)
    inside.mkdir()
    for name in ("SECRET_KEY", "PUBLIC_URL", "EMAIL_HOST", "CKPTSITE_APPS"):
        os.environ.pop(name, None)
    os.environ.update(
        TIMES,
        DATABASE_URL=place.database_url,
        REDIS_URL=place.redis_url,
        CKPTSITE_DATA=str(place.root),
        CKPTSITE_HARNESS_PACE=str(world.PACE),
        DJANGO_SETTINGS_MODULE="tests.harness.site_settings",
    )
    os.environ[tools.SOCKET] = outside.path
    outside.start()
    try:
        import django

        django.setup()
        os.environ[apps.INSIDE] = str(inside)  # from here on: the workers', not ours
        from tests.harness import nemesis

        site = nemesis.Site(place.root)
        try:
            return act(site, outside, inside)
        finally:
            site.stop()
    finally:
        outside.stop()


def begin(site: nemesis.Site) -> None:
    """Start the servers, with tables and people."""
    from django.core.management import call_command

    from ckptsite.services import postgres
    from tests.harness import people

    site.start("postgres", "valkey")
    postgres.make_database(site.folder.database_url)
    call_command("migrate", verbosity=0)
    people.make()

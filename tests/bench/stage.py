"""Where the engine is measured: a PostgreSQL of its own that keeps every commit, and Django set up on it."""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ckptsite.services import folder as folders
from ckptsite.services import postgres, processes
from tests import waiting

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
NOTED = {"track_commit_timestamp": "on"}
"""Commits tell when they were made, by the server's clock; the floors pay for it as well."""


@contextlib.contextmanager
def standing(
    data: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator[folders.Folder]:
    """Give a data folder whose PostgreSQL answers; the environment leads to it and Django is set up on it.

    There is no broker, as for `manage.py drain`; the role is a worker's. Without `data` it is a folder that is taken
    away again. `settings` are more of PostgreSQL's.
    """
    with contextlib.ExitStack() as stack:
        if data is None:
            temporary = tempfile.TemporaryDirectory(prefix="ckptsite-bench-", ignore_cleanup_errors=True)
            name = Path(stack.enter_context(temporary))
            name.chmod(0o711)
            data = name / "data"
        folder = folders.Folder(data.absolute())
        folders.make(folder)
        more = {**DURABLE, **NOTED, **(settings or {})}
        program = postgres.program(folder, say=lambda _line: None, settings=more)
        process = processes.start(program)
        try:
            waiting.until(lambda: postgres.answers(folder.database_url), within=30, what="PostgreSQL answers")
            postgres.make_database(folder.database_url)
            _lead(folder, environment or {})
            yield folder
        finally:
            _let_go()
            processes.stop(process, program, within=10)


def _lead(folder: folders.Folder, environment: Mapping[str, str]) -> None:
    for name in [name for name in os.environ if name.startswith("CKPTSITE_")]:
        del os.environ[name]
    os.environ.update(
        {
            "DJANGO_SETTINGS_MODULE": "ckptsite.settings",
            "CKPTSITE_APPS": "tests.bench",
            "CKPTSITE_DATA": str(folder.root),
            "CKPTSITE_ROLE": "worker",
            "DATABASE_URL": folder.database_url,
            "REDIS_URL": folder.redis_url,
            "CKPTSITE_UNDO_WINDOW_2": "0",  # what a person released may start at once
            "LOG_LEVEL": "ERROR",
            **environment,
        }
    )
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from runs.engine import worker

    worker.settle_in()  # as `manage.py drain` and a Celery worker do


def _let_go() -> None:
    from django.conf import settings

    if settings.configured:
        from django.db import connections

        connections.close_all()


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [[*DURABLE, "server_version"]]
        )
        kept = dict(cursor.fetchall())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 2**30, 1),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "postgresql": kept.pop("server_version"),
        **kept,
    }

"""One migrated database for a test session, a copy of it for each worker, and its first rows again after each test.

Django empties all tables after a test that commits, and seeds them anew; here only what has rows is emptied, and the
seeded rows are copied back, in one statement.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

from django.core import management
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test import TransactionTestCase
from psycopg import sql

from ckptsite.services import binaries, postgres

MIGRATED = "migrated"
SCHEMAS = Path(__file__).parent.parent / ".pytest_cache" / "schemas"
"""Tables as migrations made them, by the migrations' digest: most of a short session went into making them again."""

_KEEP = """
CREATE SCHEMA kept;
DO $$
DECLARE name text; filled boolean;
BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'django_migrations' LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
    IF filled THEN
      EXECUTE format('CREATE TABLE kept.%I AS TABLE public.%I', name, name);
    END IF;
  END LOOP;
END $$;
"""
"""Remembers the rows as they are now."""

_RESTORE = """
DO $$
DECLARE name text; filled boolean; kept boolean;
BEGIN
  SET LOCAL session_replication_role = replica;  -- neither foreign keys nor append-only tables mind
  FOR name, kept IN
    SELECT tablename, to_regclass(format('kept.%I', tablename)) IS NOT NULL FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> 'django_migrations'
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
    IF filled THEN
      EXECUTE format('DELETE FROM public.%I', name);
    END IF;
    IF kept THEN
      EXECUTE format('INSERT INTO public.%I SELECT * FROM kept.%I', name, name);
    END IF;
  END LOOP;
  UPDATE runs_installation SET created_at = clock_timestamp();  -- another one: no worker has acted for it yet
END $$;
"""


def template(folder: Path) -> str:
    """Return the name of the migrated database, made by the first worker that asks."""
    given = connection.settings_dict["NAME"]
    with (folder / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / MIGRATED).exists():
            with postgres.connect(os.environ["DATABASE_URL"], dbname="postgres") as server:
                server.autocommit = True
                server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(MIGRATED)))
            connection.close()
            connection.settings_dict["NAME"] = MIGRATED
            try:
                migrated()
            finally:
                connection.close()
                connection.settings_dict["NAME"] = given
            (folder / MIGRATED).touch()
    return MIGRATED


def migrated() -> None:
    """Migrate the connected empty database; its tables come from the last session that had the same migrations.

    What is seeded after a migration is seeded anew, by the code as it is now.
    """
    file = SCHEMAS / f"{_key()}.sql"
    if file.exists():
        _psql("--file", str(file))
    connection.close()
    management.call_command("migrate", verbosity=0)
    if not file.exists():
        SCHEMAS.mkdir(parents=True, exist_ok=True)
        text = _pg("pg_dump", "--schema-only", "--no-owner")
        text += _pg("pg_dump", "--data-only", "--no-owner", "--table=django_migrations")
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.replace(file)


def _key() -> str:
    """Return a digest of every migration, in the order in which they are applied, and of the server's version."""
    found = hashlib.sha256(str(connection.get_database_version()).encode())
    for (app, name), migration in sorted(MigrationLoader(connection).disk_migrations.items()):
        found.update(f"{app} {name}".encode())
        found.update(Path(inspect.getfile(type(migration))).read_bytes())
    return found.hexdigest()[:32]


def _psql(*options: str) -> None:
    _pg("psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", *options)


def _pg(program: str, *options: str) -> str:
    """Return what one of the server's own programs prints about the connected database."""
    name = connection.settings_dict["NAME"]
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
    command = [str(binaries.postgres() / program), f"--dbname={url}", *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextmanager
def kept() -> Iterator[None]:
    """While this lasts, each test that commits leaves the rows that are there now."""
    with connection.cursor() as cursor:
        cursor.execute(_KEEP)

    def restore(_: TransactionTestCase) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_RESTORE)

    with mock.patch.object(TransactionTestCase, "_fixture_teardown", restore):
        yield


def left() -> None:
    """End what a page that was left amid a request may still hold of the database, which is dropped now."""
    with postgres.connect(os.environ["DATABASE_URL"], dbname="postgres") as server:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [connection.settings_dict["NAME"]],
        )
    connection.close()

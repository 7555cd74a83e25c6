"""The rights that web, worker and clock need in the database, and none that could rewrite what is append-only."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

_APPEND_ONLY = """
SELECT DISTINCT t.tgrelid::regclass::text FROM pg_trigger t
JOIN pg_proc p ON p.oid = t.tgfoid WHERE p.proname = 'runs_append_only' ORDER BY 1
"""


def append_only() -> list[str]:
    """Return the tables whose rows are never changed, as the database knows them by their triggers."""
    with connection.cursor() as cursor:
        cursor.execute(_APPEND_ONLY)
        return [row[0] for row in cursor.fetchall()]


def statements(role: str) -> Iterator[str]:
    """Yield what the owner of the database says to give `role` its rights; it owns nothing, so no trigger is its to
    switch off."""
    name, schema = connection.ops.quote_name(role), "public"
    database = connection.ops.quote_name(str(connection.settings_dict["NAME"]))
    yield f"GRANT CONNECT ON DATABASE {database} TO {name};"
    yield f"GRANT USAGE ON SCHEMA {schema} TO {name};"
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {name};"
    yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {name};"
    yield f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {name};"
    for table in ("django_migrations", "runs_tombstone"):  # what is erased is for the owner to say
        yield f"REVOKE INSERT, UPDATE, DELETE ON {table} FROM {name};"
    for table in append_only():
        yield f"REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM {name};"

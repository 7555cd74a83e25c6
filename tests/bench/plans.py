"""How the server reads: which statements would go through a whole large table, whatever its size.

Asked of a small database in which the server may not go through whole tables or put whole tables together: it does so
all the same where there is no index, and goes through an index from end to end only where it has no condition on it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import connection

from runs.models import wire
from tests.bench.serving import Statement

LARGE = frozenset(
    f"runs_{name}"
    for name in (
        "run", "entry", "fact", "action", "revision", "occurrence", "evidence", "review", "decision", "verification",
        "plan", "planstep", "account", "words", "notice", "delivery", "auditevent", "refusal",
    )
)  # fmt: skip
"""Tables that grow with the number of runs."""
_FORBIDDEN = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin")
"""Ways that pay in a small database, and in a large one only where there is no index."""
_BY_ORDER = ("enable_indexscan", "enable_indexonlyscan")
"""Of few rows the server takes all in their order rather than those that are asked for; what is found so is asked again
without."""
_BLOCKING = frozenset({"Sort", "Incremental Sort", "Aggregate", "Hash", "WindowAgg", "Materialize", "SetOp"})


def whole(statements: Iterable[Statement]) -> dict[str, str]:
    """Return the statements that read a large table from end to end, each with what it reads so."""
    said = {
        one.text: one.values for one in statements if one.text.lstrip("( ").startswith(("SELECT", "WITH"))
    }
    found: dict[str, str] = {}
    partial = _partial()
    for forbidden in (_FORBIDDEN, _FORBIDDEN + _BY_ORDER):
        wanted, found = list(said if forbidden is _FORBIDDEN else found), {}
        with _without(forbidden):
            for text in wanted:
                reads = sorted(set(_unbounded(_plan(text, said[text]), partial, limited=False)))
                if reads:
                    found[text] = ", ".join(reads)
    return found


@contextlib.contextmanager
def _without(ways: Iterable[str]) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("; ".join(f"SET {way} = off" for way in ways))
        try:
            yield
        finally:
            cursor.execute("; ".join(f"RESET {way}" for way in ways))


def _plan(text: str, values: Any) -> Mapping[str, Any]:
    said = f"EXPLAIN (FORMAT JSON) {text}"
    if "$1" in text:
        row = wire.execute(said, values)[0][0]
        return json.loads(row or b"")[0]["Plan"]  # type: ignore[no-any-return]
    with connection.cursor() as cursor:
        cursor.execute(said, values)
        row = cursor.fetchone()[0]
    return (json.loads(row) if isinstance(row, str) else row)[0]["Plan"]  # type: ignore[no-any-return]


def _unbounded(node: Mapping[str, Any], partial: frozenset[str], *, limited: bool) -> Iterator[str]:
    """Give the large tables that a part of a plan reads whole; under a limit it stops before that."""
    kind, table = node["Node Type"], node.get("Relation Name", "")
    if table in LARGE:
        if kind == "Seq Scan":
            yield f"{table} without an index"
        by_order = kind.startswith("Index") and "Index Cond" not in node and node["Index Name"] not in partial
        if by_order and not limited:
            yield f"{table} through all of {node['Index Name']}"
    inner = (limited or kind == "Limit") and kind not in _BLOCKING
    for part in node.get("Plans", ()):
        yield from _unbounded(part, partial, limited=inner)


def _partial() -> frozenset[str]:
    """Return the indexes of few rows of their tables, which may be read whole."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE indpred IS NOT NULL")
        return frozenset(name for (name,) in cursor.fetchall())

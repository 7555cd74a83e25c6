"""What digests are made of: exact JSON, links over several parts, and seals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from django.apps import apps
from django.conf import settings

from runs import exact
from runs.models.fields import ExactField
from tests.bench.seeding import rows

NONE = r"\N"
Values = list[str]
Make = Callable[[Values], str]


class Text:
    """A text with places: `%` formatting with what stands at them."""

    def __init__(self, parts: Iterable[str | int]) -> None:
        parts = list(parts)
        self.places = tuple(part for part in parts if isinstance(part, int))
        self.pattern = "".join("%s" if isinstance(part, int) else part.replace("%", "%%") for part in parts)
        self._of: Callable[[Values], Any] | None = itemgetter(*self.places) if self.places else None

    def of(self, values: Values) -> str:
        """Return the text with these values at its places."""
        return self.pattern % self._of(values) if self._of is not None else self.pattern % ()


def made(way: Any, texts: list[Text]) -> Make:
    """Return what makes a digest of these texts."""
    if way == "json":
        (text,) = texts
        return lambda values: hashlib.sha256(text.of(values).encode()).hexdigest()
    if way == "link":
        return lambda values: exact.link(*(text.of(values) for text in texts))
    return lambda values: exact.seal(way, *(text.of(values) for text in texts))


def guesses(found: rows.Rows) -> Iterator[tuple[Any, list[str]]]:
    """Give everything that a digest may be made of: a way, and texts."""
    for part in _values(found):
        yield "json", [exact.text_of(part)]
    preview = {row["id"]: value(row["preview"]) for row in found.of("runs_action")}
    for row in found.of("runs_action"):
        parts = [row["id"], row["revision"], row["tool"], row["contract"][3:], row["digest"][3:]]
        held = [exact.digest_of(preview[row["id"]]), exact.digest_of(value(row["precondition"]))]
        yield "link", [*parts, *held]
        yield "link", [row["id"], row["attempt"], row["evidence_number"], "in_doubt"]
        yield "json", [exact.text_of([row["tool"], row["identity_digest"][3:]])]
        target = str((preview[row["id"]] or {}).get("target") or "").strip().casefold()
        yield "json", [exact.text_of([row["tool"], target])]
    for row in found.of("runs_occurrence"):
        yield settings.KEY_HMAC, [row["root_id"], row["tool"], plain(row["identity"]), row["n"]]
    for row in found.of("runs_fact"):
        by = None if row["by_id"] == NONE else int(row["by_id"])
        yield "json", [exact.text_of([int(row["number"]), row["kind"], value(row["content"]), by])]
    for row in found.of("runs_review"):
        content = value(row["content"])
        if row["kind"] == "failure":
            yield "link", [row["run_id"], str(content["checkpoint"]), content["cause"]]
        if row["kind"] == "question":
            call = [str(number) for number in content["call"]]
            yield "link", [row["run_id"], *call, content["question"], exact.digest_of(content["schema"])]


def _values(found: rows.Rows) -> Iterator[Any]:
    """Give every value within the exact JSON of the rows."""
    exact_columns = {
        (model._meta.db_table, one.column)
        for model in apps.get_app_config("runs").get_models()
        for one in model._meta.concrete_fields
        if isinstance(one, ExactField)
    }
    for table, lines in found.tables.items():
        for line in lines:
            for name, text in zip(found.columns[table], line, strict=True):
                if (table, name) in exact_columns:
                    yield from _within(value(text))


def _within(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict):
        for one in value.values():
            yield from _within(one)
    elif isinstance(value, list):
        for one in value:
            yield from _within(one)


def plain(text: str) -> str:
    """Return a column's text as it is stored, not as COPY writes it; of JSON, which has no control characters."""
    return text.replace("\\\\", "\\")


def value(text: str) -> Any:
    """Return the value of a column of exact JSON."""
    return None if text in {NONE, ""} else json.loads(plain(text))

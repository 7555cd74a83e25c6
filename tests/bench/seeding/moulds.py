"""Moulds: what a lineage's rows have in common with all casts of it, and where each differs.

Each text of a row is taken apart into what stays and places: ids, customers, invoices, moments, tokens, and the digests
that are made of these. A digest is a place if what it is a digest of has places; so a cast has the very digests and
chains that the product would have written, and the verifier holds for it.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from runs import exact
from runs.transitions import log
from tests.bench.seeding import digests, rows, words

_PLACES = re.compile(
    r"(?P<digest>[0-9a-f]{64})"
    r"|(?P<event>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|(?P<minute>20\d\d-\d\d-\d\d[ T]\d\d:\d\d(?=:\d\d))"
    r"|(?P<token>seeded-\d{6}-\d{6})"
    rf"|(?P<id>{rows.NUMBER})|(?P<customer>{words.CUSTOMER})|(?P<invoice>{words.INVOICE})"
)
Place = tuple[str, str]
_SEALED = ("actor_id", "act", "run_id", "subject", "channel", "ip", "on_behalf_of_id", "policy_version_id")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Given:
    """A place that a cast gives a value to: its kind, the text in the pattern, and the number that this stands for."""

    kind: str
    text: str
    number: int = 0
    table: str = ""


@dataclass(kw_only=True)
class Mould:
    """What is needed for a cast: places that are given, digests in the order in which they can be made, rows."""

    given: list[Given]
    made: list[digests.Make] = field(default_factory=list)
    tables: list[tuple[str, digests.Text, int]] = field(default_factory=list)
    """Table, all rows as one text, and how many they are."""
    events: list[tuple[dict[str, digests.Text], dict[str, digests.Text]]] = field(default_factory=list)
    """Each audit event's columns as COPY wants them, and as the seal takes them."""
    counts: dict[str, int] = field(default_factory=dict)
    runs: list[tuple[int, int, int]] = field(default_factory=list)
    """Place of each run's id, its position, and the place of its head."""


class Unmade(Exception):
    """A digest names something that has places, and nothing says how it is made."""


def mould(found: rows.Rows) -> Mould:
    """Return the mould of a lineage."""
    return _Making(found).all()


class _Making:
    def __init__(self, found: rows.Rows) -> None:
        self.found = found
        self.places: dict[Place, int] = {}
        self.digests: dict[str, int] = {}
        self.made: list[digests.Make] = []
        self.given: list[Place] = []

    def all(self) -> Mould:
        self._give()
        self._make()
        first = {
            table: min(self._number(table, line) for line in lines)
            for table, lines in self.found.tables.items()
        }
        mould = Mould(given=[_given(*place, first) for place in self.given])
        for table, lines in self.found.tables.items():
            text = self.text("".join("\t".join(line) + "\n" for line in lines))
            mould.tables.append((table, text, len(lines)))
            mould.counts[table] = 1 + max(self._number(table, line) for line in lines) - first[table]
        mould.made = self.made
        mould.events = [self._event(line) for line in self.found.events]
        for row in self.found.of("runs_run"):
            place = self.places["id", row["id"]]
            mould.runs.append((place, int(row["position"]), self.digests[row["head"][3:]]))
        return mould

    def _number(self, table: str, line: list[str]) -> int:
        return rows.number_of(line[self.found.columns[table].index("id")])[1]

    def _give(self) -> None:
        """Number every place that a cast gives a value to."""
        lines = [line for one in self.found.tables.values() for line in one] + self.found.events
        for line in lines:
            for match in _PLACES.finditer("\t".join(line)):
                kind = match.lastgroup or ""
                if kind != "digest":
                    self._place(kind, match[0])
                if kind == "minute":  # an audit event's is sealed as it isn't written
                    self._place(kind, match[0].replace(" ", "T"))

    def _place(self, kind: str, text: str) -> int:
        place = (kind, text)
        if place not in self.places:
            self.places[place] = len(self.given)
            self.given.append(place)
        return self.places[place]

    def text(self, raw: str) -> digests.Text:
        """Return a text of rows or digests with its places."""
        return digests.Text(self._parts(raw))

    def _parts(self, raw: str) -> Iterator[str | int]:
        last = 0
        for match in _PLACES.finditer(raw):
            kind = match.lastgroup or ""
            place = self.digests.get(match[0]) if kind == "digest" else self.places[kind, match[0]]
            if place is None:
                continue
            yield raw[last : match.start()]
            yield place
            last = match.end()
        yield raw[last:]

    # --- digests ----------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        """Find out how each digest is made; those that name others come after them."""
        known = {match for line in self._lines() for match in re.findall(r"[0-9a-f]{64}", line)}
        waiting = dict(self._candidates(known))
        heads = self._heads()
        while waiting:
            ready = [
                digest for digest, parts in waiting.items()
                if not any(other in waiting and other != digest for part in parts[1] for other in _named(part))
            ]  # fmt: skip
            if not ready:
                raise Unmade(f"digests name each other: {sorted(waiting)[:3]}")
            for digest in ready:
                key, parts = waiting.pop(digest)
                texts = [self.text(part) for part in parts]
                if any(text.places for text in texts):
                    self._add(digest, digests.made(key, texts))
        for digest, make in heads():
            self._add(digest, make)

    def _add(self, digest: str, make: digests.Make) -> None:
        self.digests[digest] = len(self.given) + len(self.made)
        self.made.append(make)

    def _lines(self) -> Iterator[str]:
        for lines in self.found.tables.values():
            for line in lines:
                yield "\t".join(line)
        for line in self.found.events:
            yield "\t".join(line)

    def _candidates(self, known: set[str]) -> Iterator[tuple[str, tuple[Any, list[str]]]]:
        """Give each digest with what it is made of: a way, and its texts."""
        seen: set[str] = set()
        for way, parts in digests.guesses(self.found):
            digest = digests.made(way, [digests.Text([part]) for part in parts])([])
            if digest in known and digest not in seen:
                seen.add(digest)
                yield digest, (way, parts)
        for row in self.found.of("runs_review"):
            if row["digest"][3:] not in seen:
                raise Unmade(f"review {row['id']} ({row['kind']}): nothing says how its digest is made")

    def _heads(self) -> Callable[[], Iterator[tuple[str, digests.Make]]]:
        """Return what gives the heads of the logs, each after the one before it."""
        lines = sorted(
            self.found.of("runs_entry"), key=lambda row: (int(row["run_id"]), int(row["position"]))
        )
        cut: dict[str, tuple[str, int] | None] = {}
        for row in self.found.of("runs_run"):
            path = digests.value(row["path"])
            cut[row["id"]] = (str(path[-1][0]), path[-1][1]) if path else None
        head_at = {(row["run_id"], int(row["position"])): row["head"][3:] for row in lines}

        def give() -> Iterator[tuple[str, digests.Make]]:
            for row in lines:
                run, position, content = row["run_id"], int(row["position"]), digests.plain(row["content"])
                before = head_at.get((run, position - 1)) or head_at.get(cut[run] or (run, 0), exact.EMPTY)
                number = None if row["number"] == digests.NONE else int(row["number"])
                boundary = None if row["boundary"] == digests.NONE else row["boundary"]
                counters = None if row["counters"] == digests.NONE else digests.plain(row["counters"])
                digest = exact.digest(content)
                head = log.link(before, int(run), position, row["kind"], digest, number, boundary, counters)
                if head != row["head"][3:]:
                    raise Unmade(f"line {row['id']}: its head is not what it should be")
                text = self.text(content)
                rest = exact.join([position, row["kind"]])
                last = exact.join([number or 0, boundary or "", counters or ""])
                if before != exact.EMPTY and before not in self.digests:
                    raise Unmade(f"line {row['id']}: the head before it is not there yet")
                yield (
                    head,
                    _head(
                        self.digests.get(before),
                        self.places["id", run],
                        rest,
                        text if text.places else None,
                        digest,
                        last,
                    ),
                )

        return give

    def _event(self, line: list[str]) -> tuple[dict[str, digests.Text], dict[str, digests.Text]]:
        value = dict(zip(self.found.columns[rows.EVENTS], line, strict=True))
        written = {name: self.text(text) for name, text in value.items()}
        moment, _, zone = value["at"].partition("+")
        whole, _, rest = moment.replace(" ", "T").partition(".")
        assert zone == "00", value["at"]
        sealed = {name: self.text("" if value[name] == digests.NONE else value[name]) for name in _SEALED}
        sealed["at"] = self.text(f"{whole}.{rest:0<6}+00:00")
        sealed["content"] = self.text(digests.plain(value["content"]))
        sealed["seen"] = self.text("" if value["seen"] == digests.NONE else value["seen"][3:])
        return written, sealed


def _given(kind: str, text: str, first: Mapping[str, int]) -> Given:
    if kind == "id":
        place, number = rows.number_of(text)
        table = rows.TABLES[place]
        return Given(kind, text, number - first[table], table)
    if kind == "minute":
        passed = datetime.datetime.fromisoformat(f"{text}+00:00") - _EPOCH
        return Given(kind, text, int(passed.total_seconds()) // 60)
    return Given(kind, text, int(text[2:]) if kind == "invoice" else 0)


def _head(
    before: int | None, run: int, rest: bytes, text: digests.Text | None, digest: str, last: bytes
) -> digests.Make:
    """Return what makes a head, as `log.link` does, in fewer steps."""
    sixty_four = (64).to_bytes(8, "big")
    constant = rest + sixty_four + digest.encode() + last if text is None else b""
    middle, sha = rest + sixty_four, hashlib.sha256

    def make(values: digests.Values) -> str:
        number = values[run].encode()
        first = exact.EMPTY if before is None else values[before]
        start = b"%b%b%b%b" % (sixty_four, first.encode(), len(number).to_bytes(8, "big"), number)
        if text is None:
            return sha(start + constant).hexdigest()
        content = sha(text.of(values).encode()).hexdigest().encode()
        return sha(start + middle + content + last).hexdigest()

    return make


def _named(text: str) -> list[str]:
    return re.findall(r"[0-9a-f]{64}", text)

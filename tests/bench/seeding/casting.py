"""Casting: from moulds to rows of COPY, so many that the runs are as many as was asked for."""

from __future__ import annotations

import datetime
import hmac
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.conf import settings

from runs import exact, models
from runs.transitions import anchors
from tests.bench.seeding import rows, words
from tests.bench.seeding.moulds import Mould

A_YEAR = 1_000_000
"""So many runs are a year's: fewer are of fewer days, the last ones."""
HOURS_OPEN = 3.5
"""The oldest open question is so many hours old: none is late yet, and a clock that starts has nothing to catch up."""


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Which mould, and how long ago."""

    mould: Mould
    minutes: int


class Caster:
    """Makes one cast after the other, with the ids and the audit chain that follow."""

    def __init__(self, columns: Mapping[str, list[str]], chain: models.AuditHead) -> None:
        self.seq, self.head = chain.seq, chain.hash
        self.next = dict.fromkeys(rows.TABLES, 1)
        self.count: dict[str, int] = defaultdict(int)
        self._event_columns = columns[rows.EVENTS]
        self._minutes = words.Minutes()
        self._chance = random.Random(11)
        self._casts = 0
        self._seal = hmac.new(settings.AUDIT_HMAC, digestmod="sha256")
        self._runs: list[list[object]] = []

    def rows(self, casts: Iterator[Cast]) -> dict[str, list[str]]:
        """Return the rows of these casts by table."""
        found: dict[str, list[str]] = defaultdict(list)
        events = found[rows.EVENTS]
        for cast in casts:
            mould = cast.mould
            values = self._values(mould, cast.minutes)
            for table, text, count in mould.tables:
                found[table].append(text.of(values))
                self.count[table] += count
            for written, sealed in mould.events:
                columns = {name: text.of(values) for name, text in written.items()}
                events.append(self._event(columns, {name: text.of(values) for name, text in sealed.items()}))
            for place, position, head in mould.runs:
                self._runs.append([int(values[place]), position, values[head]])
            for table, count in mould.counts.items():
                self.next[table] += count
            if len(self._runs) >= anchors.BATCH:
                events.append(self._anchor())
        if self._runs:
            events.append(self._anchor())
        return found

    def _values(self, mould: Mould, ago: int) -> list[str]:
        self._casts += 1
        values: list[str] = []
        drawn: dict[str, str] = {}
        for given in mould.given:
            kind, text = given.kind, given.text
            if kind == "id":
                values.append(str(self.next[given.table] + given.number))
            elif kind == "minute":
                values.append(self._minutes.text(given.number - ago, text[10]))
            elif kind == "customer":
                name = drawn.setdefault(text.lower(), words.customer(self._chance))
                values.append(name if text[0] == "Z" else name.lower())
            elif kind == "invoice":
                values.append(words.invoice(self._casts * 37 + given.number))
            elif kind == "token":
                values.append(f"seeded-{self._casts}-{text[7:13]}")
            else:
                values.append(f"{self._casts:020x}{len(values):012x}")
        for make in mould.made:
            values.append(make(values))
        return values

    def _event(self, columns: dict[str, str], sealed: dict[str, str]) -> str:
        """Return the next row of the audit chain."""
        self.seq += 1
        later = [sealed[name] for name in ("on_behalf_of_id", "policy_version_id", "seen")]
        parts = [self.head, str(self.seq), sealed["at"]]
        parts += [
            sealed[name] for name in ("actor_id", "act", "run_id", "subject", "content", "channel", "ip")
        ]
        seal = self._seal.copy()
        seal.update(exact.join(parts + (later if any(later) else [])))
        before, self.head = self.head, seal.hexdigest()
        columns |= {"seq": str(self.seq), "previous": rf"\\x{before}", "hash": rf"\\x{self.head}"}
        self.count[rows.EVENTS] += 1
        return "\t".join(columns[name] for name in self._event_columns) + "\n"

    def _anchor(self) -> str:
        """Return the event that names the heads of the newest runs, as the clock would."""
        runs, self._runs = self._runs, []
        content = exact.canonical({"runs": runs, "since": self.next["runs_entry"] - 1}, limit=None)
        at = datetime.datetime.now(datetime.UTC)
        sealed = dict.fromkeys(
            ("actor_id", "run_id", "ip", "on_behalf_of_id", "policy_version_id", "seen"), ""
        )
        sealed |= {"act": anchors.ACT, "subject": f"{len(runs)} runs", "content": content, "channel": "clock"}
        columns = {name: sealed.get(name) or r"\N" for name in self._event_columns}
        sealed["at"] = at.isoformat(timespec="microseconds")
        return self._event(columns | {"at": at.isoformat()}, sealed)

"""Advances: what a claimed run may use without asking its accounts again.

A claim takes a chunk of every limited measure onto the run row; a run that needs more takes another (refill); park
and end settle what was used and return the rest. In between nothing is written: what a run has used is its counters
now less its counters when it took the advance, so the accounts cost no statement in a reply, an intent or a receipt.
Waiting runs hold nothing. The advance of a claim that died stays on the run row and passes to the next claim.

On the run row an advance is {measure: {"amount", "base", "accounts"}}: so much was taken, at this reading of the
run's counter, from each of these accounts. {} is a run without limits, null one that holds nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from runs import lifecycle, measures, models
from runs.models import columns, wire
from runs.transitions import log

CHUNKS = 10
"""A chunk is the tenth part of the tightest limit, at least 1."""
PER_DAY = "day"
"""Key in a run's budget under which the limits of its agent per day stand."""
SETTLED = "settled"
"""Code of the note that says which days' accounts a run has drawn on: each with what it used and what it had held."""
NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, kw_only=True)
class Short:
    """What could not be had: `asked` of this account, one of `accounts`.

    `reserved`: other runs hold it, and what they don't use comes back.
    """

    account: models.Account
    asked: int
    reserved: bool
    accounts: tuple[models.Account, ...]


def left(run: models.Run, now: datetime.datetime) -> dict[str, int]:
    """Return what the claimed run still holds of each limited measure; nothing of any, where it holds no advance."""
    if run.advance is None:
        return {measure.value: 0 for measure in measures.Measure}
    used = run.counted(working=_working(run, now))
    return {name: held["amount"] - (used[name] - held["base"]) for name, held in run.advance.items()}


def take(
    run: models.Run,
    now: datetime.datetime,
    *,
    set_for: Mapping[str, Any],
    need: Mapping[str, int] = NOTHING,
    asking: bool = False,
    book: log.Log | None = None,
) -> Short | None:
    """Settle the locked run's advance and give it a new one; return what `need` is short of, and then hold nothing.

    `set_for` are the limits per day that agents declare or people have set. A run that is `asking` for more gets an
    advance of nothing, by which what it uses meanwhile is still counted. What is settled of a day's accounts is told to
    `book`. Touches no account where nothing is limited.
    """
    used = run.counted(working=_working(run, now))
    wanted = _wanted(run, used, now, set_for)
    scopes = {key[:3] for key in wanted}
    # A later attempt is bound by its lineage's limits, whatever its own budget says, and a child by its parents'.
    roots = {run.root_id, *_above(run)}
    scopes |= {(root, None, None) for root in roots if root != run.pk}
    if not scopes and not run.advance:
        run.advance = {}
        return None
    accounts = _locked(run, scopes, wanted)
    _settle(run, used, accounts, book)
    # A day's limit binds while it is in force; what is left of a lifted one is only settled.
    current = [row for row in accounts if row.root_id in roots or _key(row) in wanted]
    short = _short(current, need)
    if short is None:
        run.advance = {}
        for measure in _measures(current):
            _grant(
                run, measure, [row for row in current if row.measure == measure], used, need, nothing=asking
            )
    _write(accounts)
    return short


def give_back(run: models.Run, book: log.Log) -> None:
    """Settle what the locked run has used, its counters being complete, and return the rest."""
    if run.advance:
        accounts = _locked(run, (), {})
        _settle(run, run.counted(), accounts, book)
        _write(accounts)
    run.advance = None


def _above(run: models.Run) -> list[int]:
    """Return the lineages of the runs above this one: what it uses is used up for them too."""
    found, above = [], run.parent
    while above is not None:
        found.append(above.root_id)
        above = above.parent
    return found


def count_call(run: models.Run, tool: str) -> None:
    """Count a tool call that ran; for its tool by itself only while calls of that are limited."""
    run.calls += 1
    if run.advance and measures.of_tool(tool) in run.advance:
        run.tool_calls = {**run.tool_calls, tool: run.tool_calls.get(tool, 0) + 1}


def _working(run: models.Run, now: datetime.datetime) -> float:
    return max(0.0, (now - run.claimed_at).total_seconds()) if run.claimed_at is not None else 0.0


Scope = tuple[int | None, int | None, datetime.date | None]
Key = tuple[int | None, int | None, datetime.date | None, str]


def _key(account: models.Account) -> Key:
    return (account.root_id, account.agent_id, account.day, account.measure)


def today(now: datetime.datetime) -> datetime.date:
    """Return the day on whose accounts a run draws at this moment."""
    return now.astimezone(timezone.get_default_timezone()).date()


def _wanted(
    run: models.Run, used: Mapping[str, int], now: datetime.datetime, set_for: Mapping[str, Any]
) -> dict[Key, models.Account]:
    """Return the accounts that limit this run today, as they are when they are opened.

    Of a day the version in use of its agent decides, whichever the run began on; what people have set goes before that
    and before the installation's settings.
    """
    found = []
    for measure, limit in measures.limits(run.budget):
        spent = (
            0 if run.path else used[measure]
        )  # what a path has used before isn't this lineage's, or is counted
        found.append(
            models.Account(
                root_id=run.root_id, measure=measure, limit=limit, spent=spent, over=max(0, spent - limit)
            )
        )
    day, agent, per_agent = today(now), None, NOTHING
    if len(set_for) > (models.Installation.EVERYBODY in set_for):
        agent = run.agent_version.agent_id
        per_agent = set_for.get(str(agent), NOTHING)
    everybody = set_for.get(models.Installation.EVERYBODY, settings.CKPTSITE_DAY_BUDGET)
    found += [
        models.Account(agent_id=whose, day=day, measure=measure, limit=limit)
        for whose, budget in ((agent, per_agent), (None, everybody))
        for measure, limit in measures.limits(budget)
    ]
    return {_key(account): account for account in found}


def _measures(accounts: Iterable[models.Account]) -> list[str]:
    return sorted({account.measure for account in accounts}, key=measures.place)


def _locked(
    run: models.Run, scopes: Iterable[Scope], wanted: Mapping[Key, models.Account]
) -> list[models.Account]:
    """Return the accounts of the scopes and those that the run holds something of, locked in the order of their ids.

    Those that are wanted and missing are opened.
    """
    held = {number for held in (run.advance or {}).values() for number in held["accounts"]}
    values: columns.Values = [columns.numbers(held)]
    named = "id = ANY($1::bigint[])"
    for scope in scopes:  # None is no value here: each scope says which of its three there are
        for column, value in zip(("root_id", "agent_id", "day"), scope, strict=True):
            joint = " OR (" if column == "root_id" else " AND "
            if value is None:
                named += f"{joint}{column} IS NULL"
            else:
                values.append(str(value).encode())
                named += f"{joint}{column} = ${len(values)}"
        named += ")"
    named += " ORDER BY id FOR NO KEY UPDATE"
    found = columns.fetch(models.Account, named, values)
    missing = wanted.keys() - {_key(account) for account in found}
    if missing:
        models.Account.objects.bulk_create(
            [wanted[key] for key in wanted if key in missing], ignore_conflicts=True
        )
        found = columns.fetch(models.Account, named, values)
    return found


_WRITE = """
UPDATE runs_account a SET spent = v.spent, advanced = v.advanced, over = v.over
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) v (id, spent, advanced, over) WHERE a.id = v.id
"""


def _write(accounts: Sequence[models.Account]) -> None:
    """Write what is used and reserved of these locked accounts, as a part of the caller's commit."""
    if not accounts:
        return
    if not connection.in_atomic_block:
        raise RuntimeError("Accounts are written in the transaction that locked them.")
    rows = [(account.pk, account.spent, account.advanced, account.over) for account in accounts]
    wire.execute(_WRITE, [columns.numbers(column) for column in zip(*rows, strict=True)])


def _settle(
    run: models.Run, used: Mapping[str, int], accounts: Iterable[models.Account], book: log.Log | None
) -> None:
    by_id = {account.pk: account for account in accounts}
    days: list[list[int]] = []
    for measure, held in (run.advance or {}).items():
        spent = used[measure] - held["base"]
        for number in held["accounts"]:
            account = by_id[number]
            account.spent += spent
            account.advanced -= held["amount"]
            account.over += max(0, spent - held["amount"])
            if account.root_id != run.root_id and spent:
                days.append([number, spent, held["amount"]])
    run.advance = None
    if (
        days and book is not None
    ):  # its lineage's account is counted from its logs; on which day it was, and for whom, only this tells
        book.append(lifecycle.EntryKind.NOTE, {"code": SETTLED, "accounts": days})


def _short(accounts: list[models.Account], need: Mapping[str, int]) -> Short | None:
    """Return the first account, in the order of the measures, that has too little for `need`."""
    for measure in _measures(accounts):
        asked = need.get(measure, 0)
        for account in sorted((row for row in accounts if row.measure == measure), key=lambda row: row.free):
            if asked > 0 and account.free < asked:
                reserved = account.spent + asked <= account.limit
                return Short(account=account, asked=asked, reserved=reserved, accounts=tuple(accounts))
    return None


def _grant(
    run: models.Run,
    measure: str,
    accounts: list[models.Account],
    used: Mapping[str, int],
    need: Mapping[str, int],
    *,
    nothing: bool,
) -> None:
    chunk = max(1, min(account.limit for account in accounts) // CHUNKS, need.get(measure, 0))
    amount = 0 if nothing else max(0, min(chunk, *(account.free for account in accounts)))
    for account in accounts:
        account.advanced += amount
    run.advance[measure] = {
        "amount": amount,
        "base": used[measure],
        "accounts": [account.pk for account in accounts],
    }

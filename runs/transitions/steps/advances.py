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

from runs import measures, models
from runs.models import columns, wire

CHUNKS = 10
"""A chunk is the tenth part of the tightest limit, at least 1."""
PER_DAY = "day"
"""Key in a run's budget under which the limits of its agent per day stand."""
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
    used = run.used(working=_working(run, now))
    return {name: held["amount"] - (used[name] - held["base"]) for name, held in run.advance.items()}


def take(run: models.Run, now: datetime.datetime, *, need: Mapping[str, int] = NOTHING) -> Short | None:
    """Settle the locked run's advance and give it a new one; return what `need` is short of, and then hold nothing.

    Touches no account where nothing is limited.
    """
    used = run.used(working=_working(run, now))
    wanted = _wanted(run, used, now)
    scopes = {key[:3] for key in wanted}
    if (
        run.root_id != run.pk
    ):  # a later attempt is bound by its lineage's limits, whatever its own budget says
        scopes.add((run.root_id, None, None))
    if not scopes and not run.advance:
        run.advance = {}
        return None
    accounts = _locked(run, scopes, wanted)
    _settle(run, used, accounts)
    current = [account for account in accounts if _key(account)[:3] in scopes]
    short = _short(current, need)
    if short is None:
        run.advance = {}
        for measure in measures.Measure:
            _grant(run, measure, [row for row in current if row.measure == measure], used, need)
    _write(accounts)
    return short


def give_back(run: models.Run) -> None:
    """Settle what the locked run has used, its counters being complete, and return the rest."""
    if run.advance:
        accounts = _locked(run, (), {})
        _settle(run, run.used(), accounts)
        _write(accounts)
    run.advance = None


def _working(run: models.Run, now: datetime.datetime) -> float:
    return max(0.0, (now - run.claimed_at).total_seconds()) if run.claimed_at is not None else 0.0


Scope = tuple[int | None, int | None, datetime.date | None]
Key = tuple[int | None, int | None, datetime.date | None, str]


def _key(account: models.Account) -> Key:
    return (account.root_id, account.agent_id, account.day, account.measure)


def _wanted(run: models.Run, used: Mapping[str, int], now: datetime.datetime) -> dict[Key, models.Account]:
    """Return the accounts that limit this run today, as they are when they are opened.

    A limit that is set on a day counts from the next day's account.
    """
    found = []
    for measure, limit in _limits(run.budget):
        spent = (
            0 if run.path else used[measure]
        )  # what a path has used before isn't this lineage's, or is counted
        found.append(
            models.Account(
                root_id=run.root_id, measure=measure, limit=limit, spent=spent, over=max(0, spent - limit)
            )
        )
    day = now.astimezone(timezone.get_default_timezone()).date()
    per_agent = list(_limits(run.budget.get(PER_DAY, {})))
    if per_agent:
        agent_id = run.agent_version.agent_id
        found += [
            models.Account(agent_id=agent_id, day=day, measure=name, limit=limit) for name, limit in per_agent
        ]
    found += [
        models.Account(day=day, measure=measure, limit=limit)
        for measure, limit in _limits(settings.CKPTSITE_DAY_BUDGET)
    ]
    return {_key(account): account for account in found}


def _limits(budget: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    return (
        (measure.value, budget[measure]) for measure in measures.Measure if budget.get(measure) is not None
    )


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
    named += " ORDER BY id FOR UPDATE"
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


def _settle(run: models.Run, used: Mapping[str, int], accounts: Iterable[models.Account]) -> None:
    by_id = {account.pk: account for account in accounts}
    for measure, held in (run.advance or {}).items():
        spent = used[measure] - held["base"]
        for number in held["accounts"]:
            account = by_id[number]
            account.spent += spent
            account.advanced -= held["amount"]
            account.over += max(0, spent - held["amount"])
    run.advance = None


def _short(accounts: list[models.Account], need: Mapping[str, int]) -> Short | None:
    """Return the first account, in the order of the measures, that has too little for `need`."""
    for measure in measures.Measure:
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
) -> None:
    if not accounts:
        return
    chunk = max(1, min(account.limit for account in accounts) // CHUNKS, need.get(measure, 0))
    amount = max(0, min(chunk, *(account.free for account in accounts)))
    for account in accounts:
        account.advanced += amount
    run.advance[measure] = {
        "amount": amount,
        "base": used[measure],
        "accounts": [account.pk for account in accounts],
    }

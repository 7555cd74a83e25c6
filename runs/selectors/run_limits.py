"""The limits that a run lives under, in words: its own, its agent's and everybody's of today."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from django.db.models import Q
from django.utils import timezone

from runs import lifecycle, measures, models
from runs.selectors import budgets_page, now, usage_models

WARN = budgets_page.WARN
_HAVE = {
    "lineage": "This run has",
    "agent": "All runs of this agent have today",
    "installation": "All runs have today",
}


def accounts(run: models.Run, moment: datetime.datetime) -> tuple[models.Account, ...]:
    """Return what limits the run at this moment: its lineage's accounts, its agent's and everybody's of the day."""
    today = moment.astimezone(timezone.get_default_timezone()).date()
    rows = models.Account.objects.filter(
        Q(root=run.root_id)
        | Q(agent=run.agent_version.agent_id, day=today)
        | Q(root=None, agent=None, day=today)
    )
    return tuple(sorted(rows, key=lambda row: (*_place(row), measures.place(row.measure))))


def lines(run: models.Run) -> tuple[usage_models.Limit, ...]:
    """Return one line for each limit, the run's own first."""
    moment = models.Installation.objects.annotate(now=now.ClockNow()).values_list("now", flat=True).get(pk=1)
    return tuple(_line(row, run) for row in accounts(run, moment))


def nearly(run: models.Run, rows: Iterable[models.Account]) -> tuple[str, ...]:
    """Return the lines of those limits of the day that are nearly or wholly used up, while the run isn't over."""
    if run.status in lifecycle.RUN_FINAL:
        return ()
    found = (_line(row, run) for row in rows if row.root_id is None)
    return tuple(line.sentence for line in found if line.warn)


def rest(row: models.Account, run: models.Run) -> str:
    """Return what of a limit is reserved and left, in short."""
    return budgets_page.gauge(row, unsettled=_unsettled(row, run)).rest


def _place(row: models.Account) -> tuple[bool, bool]:
    return (row.root_id is None, row.agent_id is None)


def used(row: models.Account, run: models.Run) -> int:
    """Return what an account has lost so far, with what the run has used of its advance."""
    return row.spent + _unsettled(row, run)


def _unsettled(row: models.Account, run: models.Run) -> int:
    held = (run.advance or {}).get(row.measure, {})
    return run.counted()[row.measure] - int(held["base"]) if row.pk in held.get("accounts", ()) else 0


def _line(row: models.Account, run: models.Run) -> usage_models.Limit:
    unsettled = _unsettled(row, run)
    used = row.spent + unsettled
    reserved = max(0, row.advanced - unsettled)
    percent = 100 * used // row.limit if row.limit else 100
    left = max(0, row.limit - used - reserved)
    of = f"{measures.amount(row.measure, used)} of {measures.amount(row.measure, row.limit)}"
    holds = f", {measures.amount(row.measure, reserved)} reserved for work under way" if reserved else ""
    later = row.root_id is not None and run.root_id != run.pk
    have = "This run and the attempts before it have" if later else _HAVE[row.scope]
    sentence = f"{have} used {of} ({percent} %){holds}; {measures.amount(row.measure, left)} left."
    if percent >= WARN:
        sentence = f"{'Used' if percent >= 100 else 'Nearly used'} up: {sentence}"
    return usage_models.Limit(sentence=sentence, warn=percent >= WARN)

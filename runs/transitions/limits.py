"""Setting what may be used in a day: by one agent, or by everybody together. In force at once, for today too."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from django.conf import settings

from runs import lifecycle, measures, models, rights
from runs.tools import registry
from runs.transitions import attempts, audit, clock_time, inbox, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing, within
from runs.transitions.refusals import Invalid, NotYours, Stale
from runs.transitions.steps import advances

EVERYBODY = models.Installation.EVERYBODY
MOST = 10**15
BEFORE_MIDNIGHT = datetime.timedelta(hours=1)
WOKEN = 50
"""So many runs that wait for more are woken by whoever sets a limit; the clock finds the rest."""


@attempts.noted("budget.set", "budget {}")
def set_limits(of: str, limits: Mapping[str, int], *, reason: str, base: int, by: Actor) -> models.DayBudget:
    """Return the new version of what `of`, an agent's name or `all`, may use in a day; `base` is the one changed.

    Today's limits change with it, but not below what is used or reserved already. Refuses NotYours, Invalid for limits
    that can't be, and Stale where another version than `base` is in force by now.
    """
    if by.user is None or not rights.may(by.user.roles(), rights.Act.BUDGETS):
        raise NotYours("Only an administrator may set what may be used in a day.")
    reason = texts.typed(reason, "reason")
    if not texts.says(reason):
        raise Invalid("Say why the limits change; the reason stays in their history.")
    _check(limits)
    with committing("limits"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        agent = None if of == EVERYBODY else models.Agent.objects.filter(name=of).first()
        if agent is None and of != EVERYBODY:
            raise Invalid(f"There is no agent named {of!r}.")
        newest = models.DayBudget.objects.filter(agent=agent).order_by("-number").first()
        if (newest.number if newest else 0) != base:
            assert newest is not None
            raise Stale(f"{newest.created_by.display()} set other limits meanwhile: {newest.reason}")
        before, after = in_force(installation, agent), dict(measures.limits(limits))
        if newest is not None and before == after:
            raise Invalid("Nothing is changed: these are the limits in force.")
        made = models.DayBudget.objects.create(
            agent=agent, number=base + 1, limits=after, reason=reason, created_by=by.user
        )
        installation.budgets = {**installation.budgets, key(agent): after}
        installation.save(update_fields=["budgets"])
        today = _today(agent, after)
        content = {"of": key(agent), "number": made.number, "before": before, "after": after, "reason": reason,
                   "today": today}  # fmt: skip
        audit.append("budget.set", actor=by, subject=f"budget {of}", content=content)
    _wake(agent, by)
    return made


def declare(agent: models.Agent) -> None:
    """Put in force, for each of its runs, what an agent's version in use says of a day, unless people have set it."""
    budget = {} if agent.current is None else agent.current.budget
    limits = dict(measures.limits(budget.get(advances.PER_DAY, {})))
    if models.Installation.objects.only("declared").get(pk=1).declared.get(key(agent), {}) == limits:
        return
    with within("declare"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        others = {name: value for name, value in installation.declared.items() if name != key(agent)}
        installation.declared = {**others, **({key(agent): limits} if limits else {})}
        installation.save(update_fields=["declared"])
        if key(agent) not in installation.budgets and agent.versions.count() > 1:
            _today(agent, limits)


def key(agent: models.Agent | None) -> str:
    """Return under which key the installation holds what is set for this agent, or for everybody."""
    return EVERYBODY if agent is None else str(agent.pk)


def in_force(installation: models.Installation, agent: models.Agent | None) -> dict[str, int]:
    """Return what an agent, or everybody together, may use in a day by now."""
    given = settings.CKPTSITE_DAY_BUDGET
    if agent is not None:
        current = agent.current
        given = {} if current is None else current.budget.get(advances.PER_DAY, {})
    return dict(measures.limits(installation.budgets.get(key(agent), given)))


def _check(limits: Mapping[str, int]) -> None:
    tools = {tool.name for tool in registry.all()}
    for measure, limit in limits.items():
        if measure not in measures.NOUNS and not measures.tool(measure):
            raise Invalid(f"{measure!r} is nothing that can be limited.")
        if measures.tool(measure) and measures.tool(measure) not in tools:
            raise Invalid(f"There is no tool named {measures.tool(measure)!r}.")
        if type(limit) is not int or not 0 <= limit <= MOST:
            raise Invalid(f"The limit of {measures.noun(measure)} must be a whole number of 0 or more.")


def _today(agent: models.Agent | None, limits: Mapping[str, int]) -> list[list[int]]:
    """Give today's accounts these limits and return what changed; the missing ones are opened, so that no run that has
    read the limits before this commit opens them with the old ones. Shortly before midnight that is also tomorrow's.
    """
    now = clock_time.now()
    days = {advances.today(now), advances.today(now + BEFORE_MIDNIGHT)}
    models.Account.objects.bulk_create(
        [
            models.Account(agent=agent, day=day, measure=name, limit=limit)
            for day in sorted(days)
            for name, limit in limits.items()
        ],
        ignore_conflicts=True,
    )
    changed = []
    rows = models.Account.objects.filter(root=None, agent=agent, day__in=days, measure__in=limits)
    for row in rows.select_for_update(no_key=True, of=("self",)).order_by("pk"):
        limit = max(limits[row.measure], row.spent + row.advanced - row.over)
        if limit != row.limit:
            changed.append([row.pk, row.limit, limit])
            row.limit = limit
            row.save(update_fields=["limit"])
    return changed


def _wake(agent: models.Agent | None, by: Actor) -> None:
    """Let the runs that wait for more of these limits look again: each under its own lock, after the commit."""
    waiting = models.Run.objects.filter(
        status=lifecycle.Run.WAITING,
        budget_review__account__in=models.Account.objects.filter(root=None, agent=agent, day__isnull=False),
    )
    for run_id in waiting.order_by("pk").values_list("pk", flat=True)[:WOKEN]:
        with committing("budget_wake"):
            run = inbox.lock(run_id)
            if run.status == lifecycle.Run.WAITING and run.budget_review_id is not None:
                inbox.leave(run, models.Fact.Kind.WAKE, {"reason": "limits"}, by=by.user, mover="P")

"""What may be used in a day, by everybody together and by each agent: today, on the last days, and as it was set."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone

from runs import lifecycle, measures, models, rights
from runs.models import scopes
from runs.selectors import budget_models, deciding, keyset, now

SIZE = 25
DAYS = 14
VERSIONS = 50
WARNED = 5
WARN = 80
"""From this many percent on pages warn."""
EVERYBODY = "Everybody together"
_Limits = Mapping[str, int]


def page(viewer: deciding.Viewer, params: Mapping[str, str]) -> budget_models.BudgetsPage:
    """Return today's budgets: everybody's, and those of one page of agents."""
    installation, day = _frame()
    rows = models.Agent.objects.select_related("current")
    agents, pages = keyset.page(rows, by=("name",), params=params, size=SIZE, descending=False)
    accounts: dict[int | None, list[models.Account]] = {}
    today = models.Account.objects.filter(root=None, day=day)
    for row in [*today.filter(agent=None), *today.filter(agent__in=agents)]:
        accounts.setdefault(row.agent_id, []).append(row)
    return budget_models.BudgetsPage(
        day=day,
        everybody=_scope(installation, None, accounts.get(None, [])),
        agents=tuple(_scope(installation, agent, accounts.get(agent.pk, [])) for agent in agents),
        pages=pages,
        warnings=warnings(day, viewer.user),
        may_change=viewer.may(rights.Act.BUDGETS),
    )


def one(viewer: deciding.Viewer, agent: models.Agent | None) -> budget_models.BudgetPage:
    """Return the budget of an agent, or everybody's, with the last days and the versions of its limits."""
    installation, day = _frame()
    since = day - datetime.timedelta(days=DAYS - 1)
    rows = list(models.Account.objects.filter(root=None, agent=agent, day__gte=since).order_by("-day"))
    versions = list(
        models.DayBudget.objects.filter(agent=agent)
        .select_related("created_by")
        .order_by("-number")[:VERSIONS]
    )
    days: dict[datetime.date, list[models.Account]] = {}
    for row in rows:
        if row.day is not None:
            days.setdefault(row.day, []).append(row)
    asked = models.Review.objects.filter(
        account__root=None, account__agent=agent, account__day=day, status=lifecycle.Review.OPEN
    )
    return budget_models.BudgetPage(
        scope=_scope(installation, agent, days.get(day, [])),
        days=tuple(
            budget_models.Day(day=date, used=tuple(_said(row) for row in _sorted(found)))
            for date, found in days.items()
            if date < day
        ),
        versions=tuple(_version(row) for row in versions),
        raised=_raised(agent, day),
        base=versions[0].number if versions else 0,
        limits=_in_force(installation, agent)[0],
        asked=asked.order_by("pk").values_list("pk", flat=True).first(),
        may_change=viewer.may(rights.Act.BUDGETS),
    )


def _raised(agent: models.Agent | None, day: datetime.date) -> tuple[budget_models.Raised, ...]:
    rows = models.Decision.objects.filter(
        verdict="raise",
        review__account__root=None,
        review__account__agent=agent,
        review__account__day=day,
    )
    return tuple(
        budget_models.Raised(
            said=measures.amount(row.review.account.measure, row.content["amount"]),  # type: ignore[union-attr]  # asked for
            author=row.person.display(),
            reason=row.reason,
            at=row.created_at,
        )
        for row in rows.select_related("person", "review__account").order_by("pk")[:VERSIONS]
    )


def fields(texts: Mapping[str, str], errors: Mapping[str, str]) -> tuple[budget_models.Field, ...]:
    """Return the texts of the form, one for each measure."""
    return tuple(
        budget_models.Field(
            name=name,
            label=label(name),
            hint="in dollars, such as 25.00" if name == measures.Measure.COST else "a whole number",
            text=texts.get(name, ""),
            error=errors.get(name, ""),
        )
        for name in measures.NOUNS
    )


def warnings(day: datetime.date, user: models.User) -> tuple[str, ...]:
    """Return one sentence for each limit of the day that is nearly or wholly used up, the fullest first.

    Of agents that the person sees, and of everybody.
    """
    # An empty Q beside | is left out, and would leave everybody's only.
    theirs = Q() if user.limit() is None else Q(agent=None) | scopes.seen(user, "agent")
    rows = models.Account.objects.filter(theirs, day=day, spent__gt=0).select_related("agent")
    full = rows.alias(hundred=F("spent") * 100).filter(hundred__gte=F("limit") * WARN)
    found = sorted(full.order_by("pk")[: WARNED * 10], key=lambda row: (-_percent(row), row.pk))
    more = [] if len(found) <= WARNED else [f"{len(found) - WARNED} more limits are nearly used up."]
    return (*(_warning(row) for row in found[:WARNED]), *more)


def label(measure: str) -> str:
    """Return what a limit is of, as a heading."""
    noun = "Money" if measure == measures.Measure.COST else measures.noun(measure)
    return noun[:1].upper() + noun[1:]


def gauge(row: models.Account, *, unsettled: int = 0) -> budget_models.Gauge:
    """Return what of an account is used, reserved and left; `unsettled` of what is reserved is used by now."""
    used, reserved = row.spent + unsettled, max(0, row.advanced - unsettled)
    left = max(0, row.limit - used - reserved)
    held = f"{_plain(row.measure, reserved)} reserved, " if reserved else ""
    percent = _share(used, row.limit)
    return budget_models.Gauge(
        label=label(row.measure),
        used=_plain(row.measure, used),
        of=_plain(row.measure, row.limit),
        rest=f"{held}{_plain(row.measure, left)} left",
        percent=min(percent, 100),
        warn=percent >= WARN,
    )


def _frame() -> tuple[models.Installation, datetime.date]:
    row = models.Installation.objects.annotate(now=now.ClockNow()).get(pk=1)
    return row, row.now.astimezone(timezone.get_default_timezone()).date()


def _in_force(installation: models.Installation, agent: models.Agent | None) -> tuple[_Limits, str]:
    """Return the limits by now and where they come from."""
    key = models.Installation.EVERYBODY if agent is None else str(agent.pk)
    if key in installation.budgets:
        return dict(measures.limits(installation.budgets[key])), "Set by people."
    if agent is None:
        return dict(measures.limits(settings.CKPTSITE_DAY_BUDGET)), "From the installation's settings."
    declared = {} if agent.current is None else agent.current.budget.get("day", {})
    return dict(measures.limits(declared)), "From the agent's definition."


def _scope(
    installation: models.Installation, agent: models.Agent | None, rows: Iterable[models.Account]
) -> budget_models.Scope:
    limits, source = _in_force(installation, agent)
    known = {row.measure: row for row in rows}
    shown = [known.get(name) or models.Account(measure=name, limit=limit) for name, limit in limits.items()]
    return budget_models.Scope(
        name="" if agent is None else agent.name,
        title=EVERYBODY if agent is None else agent.title or agent.name,
        gauges=tuple(gauge(row) for row in shown),
        source=source if limits else f"No limit. {source}" if source == "Set by people." else "No limit.",
    )


def _sorted(rows: Iterable[models.Account]) -> list[models.Account]:
    return sorted(rows, key=lambda row: measures.place(row.measure))


def _said(row: models.Account) -> str:
    over = f" ({measures.amount(row.measure, row.over)} beyond what was reserved)" if row.over else ""
    return f"{measures.amount(row.measure, row.spent)} of {_plain(row.measure, row.limit)}{over}"


def _version(row: models.DayBudget) -> budget_models.Version:
    said = [measures.amount(name, limit) for name, limit in measures.limits(row.limits)]
    return budget_models.Version(
        number=row.number,
        said=", ".join(said) or "no limit",
        author=row.created_by.display(),
        reason=row.reason,
        at=row.created_at,
    )


def _plain(measure: str, number: int) -> str:
    return measures.amount(measure, number) if measure == measures.Measure.COST else f"{number:,}"


def _share(used: int, limit: int) -> int:
    return 100 * used // limit if limit else 100


def _percent(row: models.Account) -> int:
    return _share(row.spent, row.limit)


def _warning(row: models.Account) -> str:
    whose = EVERYBODY if row.agent is None else f"“{row.agent.title or row.agent.name}”"
    word = "Used up" if _percent(row) >= 100 else "Nearly used up"
    amount = measures.amount(row.measure, row.spent)
    return f"{word} for today: {whose}, {amount} of {_plain(row.measure, row.limit)} ({_percent(row)} %)."

"""What a draft of the policy would have said of past actions, beside what the one in force says of the same."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models.functions import Now

from runs import lifecycle, models
from runs.policies import parsing, rules
from runs.selectors import policy_models, policy_past, tools

SPANS = (1, 7, 30, 90)
MOST = 2_000
SHOWN = 50


class _Judged(NamedTuple):
    action: models.Action
    was: rules.Verdict
    would: rules.Verdict
    doubtful: bool

    @property
    def differs(self) -> bool:
        return self.was.verdict != self.would.verdict


def simulate(draft: Mapping[str, Any], in_force: Mapping[str, Any], *, days: int) -> policy_models.Simulation:
    """Return the comparison over the newest actions of so many days. Refuses parsing.BadRules.

    Both policies are asked anew about each, so that what people did since counts for neither. Only effects are
    actions: nothing is said of reads.
    """
    found = list(
        models.Action.objects.filter(
            created_at__gte=Now() - datetime.timedelta(days=days), undo_of__isnull=True
        )
        .select_related("run__agent_version__agent", "run__created_by")
        .order_by("-pk")[: MOST + 1]
    )
    judged = _judged(found[:MOST], parsing.parse(in_force), parsing.parse(draft))
    shown = {
        verdict: [one for one in judged if one.differs and one.would.verdict == verdict]
        for verdict in rules.VERDICTS
    }
    answers = _answers([one.action.pk for each in shown.values() for one in each[:SHOWN]])
    return policy_models.Simulation(
        days=days,
        looked=len(judged),
        cut=len(found) > MOST,
        before=_counts([one.was for one in judged]),
        after=_counts([one.would for one in judged]),
        passes=_group(shown[rules.ALLOW], answers),
        asks=_group(shown[rules.REVIEW], answers),
        refuses=_group(shown[rules.DENY], answers),
        doubtful=sum(one.doubtful for one in judged),
    )


def _judged(
    actions: Sequence[models.Action], now: tuple[rules.Rule, ...], then: tuple[rules.Rule, ...]
) -> list[_Judged]:
    past = policy_past.Past(actions)
    found = []
    for action in actions:
        facts, call = policy_past.facts(action), _Noting(past.of(action))
        was, would = rules.evaluate(now, facts, call), rules.evaluate(then, facts, call)
        found.append(_Judged(action, was, would, call.doubtful))
    return found


class _Noting(Mapping[str, Any]):
    """A call that notes whether something was asked that the past doesn't tell."""

    def __init__(self, call: Mapping[str, Any]) -> None:
        self._call, self.doubtful = call, False

    def __getitem__(self, name: str) -> Any:
        try:
            return self._call[name]
        except rules.Unknown:
            self.doubtful = True
            raise

    def __iter__(self) -> Iterator[str]:
        return iter(self._call)

    def __len__(self) -> int:
        return len(self._call)


def _counts(verdicts: Sequence[rules.Verdict]) -> dict[str, int]:
    counted = Counter(one.verdict for one in verdicts)
    return {verdict: counted[verdict] for verdict in rules.VERDICTS}


def _group(judged: Sequence[_Judged], answers: Mapping[int, str]) -> policy_models.Group:
    return policy_models.Group(
        count=len(judged),
        cases=tuple(
            policy_models.Case(
                action_id=one.action.pk,
                run_id=one.action.run_id,
                run_title=one.action.run.title,
                what=str((one.action.preview or {}).get("summary") or tools.title(one.action.tool)),
                rule=one.would.rule,
                answer=answers.get(one.action.pk, ""),
            )
            for one in judged[:SHOWN]
        ),
    )


def _answers(actions: Sequence[int]) -> dict[int, str]:
    """Return what people said about these actions in the end, in words; nothing where nobody was asked."""
    reviews = models.Review.objects.filter(action__in=actions, kind=lifecycle.ReviewKind.ACTION)
    rows = reviews.order_by("pk").values_list("action", "status", "revision")
    return {action: _said(status, revision) for action, status, revision in rows}


def _said(status: str, revision: int) -> str:
    if status == lifecycle.Review.APPROVED:
        return "people approved it" if revision == 1 else "people changed it, then approved it"
    return _ANSWERS.get(status, "")


_ANSWERS: Mapping[str, str] = {
    lifecycle.Review.REJECTED: "people rejected it",
    lifecycle.Review.EXPIRED: "nobody answered",
    lifecycle.Review.OPEN: "people are being asked",
}

"""What a draft of the policy would have said of past actions, beside what the one in force says of the same."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models.functions import Now

from runs import lifecycle, models
from runs.policies import parsing, rules, words
from runs.selectors import policy_models, policy_past, tools

SPANS = (1, 7, 30, 90)
MOST = 2_000
SHOWN = 50


class _Judged(NamedTuple):
    action: models.Action
    was: rules.Verdict
    would: rules.Verdict

    @property
    def differs(self) -> bool:
        return self.was.verdict != self.would.verdict

    @property
    def terms(self) -> str:
        """Return how people would be asked otherwise, in words, where both ask."""
        if self.differs or self.would.verdict != rules.REVIEW:
            return ""
        return ", ".join(_terms(self.was, self.would))


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
    then = parsing.parse(draft)
    judged = _judged(found[:MOST], parsing.parse(in_force), then)
    shown = {
        verdict: [one for one in judged if one.differs and one.would.verdict == verdict]
        for verdict in rules.VERDICTS
    }
    otherwise = [one for one in judged if one.terms]
    listed = [*shown.values(), otherwise]
    answers = _answers([one.action.pk for each in listed for one in each[:SHOWN]])
    return policy_models.Simulation(
        days=days,
        looked=len(judged),
        cut=len(found) > MOST,
        before=_counts([one.was for one in judged]),
        after=_counts([one.would for one in judged]),
        passes=_group(shown[rules.ALLOW], answers),
        asks=_group(shown[rules.REVIEW], answers),
        refuses=_group(shown[rules.DENY], answers),
        otherwise=_group(otherwise, answers),
        rules=_uses(then, [one.would for one in judged]),
    )


def _judged(
    actions: Sequence[models.Action], now: tuple[rules.Rule, ...], then: tuple[rules.Rule, ...]
) -> list[_Judged]:
    past = policy_past.Past(actions)
    found = []
    for action in actions:
        facts, call = policy_past.facts(action), past.of(action)
        was, would = rules.evaluate(now, facts, call), rules.evaluate(then, facts, call)
        found.append(_Judged(action, was, would))
    return found


def _terms(was: rules.Verdict, would: rules.Verdict) -> Iterator[str]:
    """Yield what is otherwise in how people are asked."""
    if was.quorum != would.quorum:
        yield f"{words.people(would.quorum)} instead of {words.people(was.quorum)}"
    if was.groups != would.groups:
        yield f"{words.either(would.groups)} instead of {words.either(was.groups)}"
    if was.tier != would.tier:
        yield f"as tier {would.tier} instead of {was.tier}"
    if was.separation != would.separation:
        yield "not by who started it" if would.separation else "also by who started it"
    if was.reason_required != would.reason_required:
        yield "with a reason" if would.reason_required else "without a reason"


def _uses(
    known: tuple[rules.Rule, ...], verdicts: Sequence[rules.Verdict]
) -> tuple[policy_models.RuleUse, ...]:
    """Return for each rule how many it decides, and how many it can't be applied to."""
    found = []
    for number, rule in enumerate(known, start=1):
        mine = [one for one in verdicts if one.rule == rule.name]
        failed = [one for one in mine if one.doubtful]
        found.append(
            policy_models.RuleUse(
                number=number, name=rule.name, decides=len(mine), failed=len(failed),
                why=failed[0].reason if failed else "",
            )
        )  # fmt: skip
    return tuple(found)


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
                terms=one.terms,
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

"""What people are told, in words. Texts of agents are made visible as on the pages; none can act, lead away or hide."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from runs import lifecycle, models, telling, visible
from runs.selectors import switched

ASKED: dict[str, str] = {
    lifecycle.ReviewKind.ACTION: "An action waits to be released",
    lifecycle.ReviewKind.PLAN: "A plan waits to be released",
    lifecycle.ReviewKind.QUESTION: "An agent asks",
    lifecycle.ReviewKind.IN_DOUBT: "Nobody knows whether an effect happened",
    lifecycle.ReviewKind.BUDGET: "A budget is used up",
    lifecycle.ReviewKind.FAILURE: "A run failed and waits for somebody",
}
TIERS = ("tier 0, only reads", "tier 1, reversible", "tier 2, external", "tier 3, irreversible")


@dataclass(frozen=True, kw_only=True)
class Told:
    """One notice in words: a line, some facts, and the page that it is about."""

    line: str
    facts: tuple[tuple[str, str], ...]
    link: str


def shown(text: str) -> str:
    """Return the text in one line, with a mark in place of each character that can't be seen as it is."""
    kept = {visible.Kind.TEXT, visible.Kind.MIXED}
    parts = (part.source if part.kind in kept else part.mark for part in visible.segments(text))
    return " ".join("".join(parts).split())


def of(notice: models.Notice) -> Told:
    """Return the notice in words."""
    review, run, said = notice.review, notice.run, notice.content
    facts: list[tuple[str, str]] = []
    line = telling.KINDS.get(notice.kind, notice.kind)
    link = f"{settings.PUBLIC_URL}/inbox/"
    if review is not None:
        asks = ASKED.get(review.kind, line)
        line = asks if notice.kind == "review.opened" else f"{line}: {asks[:1].lower()}{asks[1:]}"
        facts.append(("What", shown(review.title)))
        facts.append(("Tier", TIERS[min(review.tier, 3)]))
        if review.status == lifecycle.Review.OPEN:
            facts.append(("Due", _when(review.due_at)))
            if review.expires_at is not None:
                facts.append(("Ends", _when(review.expires_at)))
        link = f"{settings.PUBLIC_URL}/reviews/{review.pk}/"
    if run is not None:
        facts.append(("Run", f"{run.pk}, {shown(run.title)}"))
        if review is None:
            link = f"{settings.PUBLIC_URL}/runs/{run.pk}/"
            facts += [("Error", shown(run.error)[:500])] if notice.kind == "run.failed" and run.error else []
    if notice.by is not None and notice.kind != "test":
        facts.append(("By", shown(notice.by.display())))
    for name in ("switch", "reason", "note", "seq", "hash"):
        if name == "switch" and said.get(name):
            facts.append(("What", shown(switched.named(str(said[name])))))
        elif said.get(name):
            facts.append((name.capitalize(), shown(str(said[name]))))
    if notice.kind == "policy.changed":
        link = f"{settings.PUBLIC_URL}/policies/"
    return Told(line=line, facts=tuple(facts), link=link)


def title(notice: models.Notice) -> str:
    """Return the line and, where there is one, what it is about."""
    told = of(notice)
    facts = dict(told.facts)
    about = facts.get("What") or (f"run {facts['Run']}" if "Run" in facts else "")
    return f"{told.line}: {about}" if about else told.line


def _when(moment: object) -> str:
    return timezone.localtime(moment).strftime("%-d %b %Y, %H:%M %Z")  # type: ignore[arg-type]  # a datetime

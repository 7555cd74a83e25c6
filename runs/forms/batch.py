"""The form about many questions: which were ticked, exactly what was shown of each, and the one answer to them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.http import QueryDict

from runs.forms import decisions

VERDICTS = ("approve", "reject")
MARK = "."


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the form showed of one question, with the single-use token of its answer."""

    revision: int
    digest: str
    evidence_number: int
    tightened: int
    token: str

    @property
    def mark(self) -> str:
        """Return it as the page compares it."""
        parts = (self.revision, self.digest, self.evidence_number, self.tightened)
        return MARK.join(str(part) for part in parts)


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it was sent; `errors` by field name, "" is the whole form."""

    verdict: str
    reason: str
    group: int
    shown: tuple[int, ...]  # every question of the page, in its order
    ticked: dict[int, Seen]
    errors: dict[str, str] = field(default_factory=dict)


def ids(values: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers among these texts, each once, in their order."""
    return tuple(dict.fromkeys(found for value in values if (found := decisions.number(value)) > 0))


def read(post: QueryDict, *, most: int) -> Given:
    """Return what was sent, with one sentence for each field that can't stay so; at most `most` are read."""
    verdict, reason = post.get("verdict", ""), post.get("reason", "").replace("\r\n", "\n").strip()
    chosen = ids(post.getlist("item"))[:most]
    ticked = {number: seen for number in chosen if (seen := _seen(post.get(f"seen-{number}", "")))}
    errors: dict[str, str] = {}
    if verdict not in VERDICTS:
        errors[""] = "Choose whether they are approved or rejected."
    elif not ticked:
        errors[""] = "Tick at least one of them; nothing was decided."
    if len(reason) > decisions.LONGEST:
        errors["reason"] = (
            f"This is too long: {len(reason):,} characters; at most {decisions.LONGEST:,} are kept."
        )
    elif "\x00" in reason:
        errors["reason"] = "This holds a NUL character, which can't be kept."
    elif verdict == "reject" and not reason:
        errors["reason"] = "Say why you reject them; the agents and the auditors read the reason."
    return Given(
        verdict=verdict,
        reason=reason,
        group=max(decisions.number(post.get("group", "")), 0),
        shown=ids(post.getlist("review"))[:most],
        ticked=ticked,
        errors=errors,
    )


def _seen(text: str) -> Seen | None:
    """Return what was shown of a question; the token may hold any sign but the mark between the parts."""
    parts = text.split(MARK)
    if len(parts) != 5:
        return None
    revision, digest, evidence, tightened, token = parts
    return Seen(
        revision=decisions.number(revision),
        digest=digest[:64],
        evidence_number=decisions.number(evidence),
        tightened=decisions.number(tightened),
        token=token[:64],
    )

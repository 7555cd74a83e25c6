"""The decision form: what a person answered, and exactly what they saw when they did."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from runs import lifecycle
from runs.forms import amounts, marks

LONGEST = 4_000
VERDICTS: dict[str, tuple[str, ...]] = {
    lifecycle.ReviewKind.ACTION: ("approve", "reject", "ask_back", "by_hand", "keep", "undo"),
    lifecycle.ReviewKind.PLAN: ("approve", "reject"),
    lifecycle.ReviewKind.IN_DOUBT: ("happened", "absent_do", "absent_leave", "unknown"),
    lifecycle.ReviewKind.FAILURE: ("retry", "go_on", "stop", "once", "twice", "not_at_all"),
    lifecycle.ReviewKind.BUDGET: ("raise", "stop"),
}
_NEED_WORDS: dict[str, str] = {
    "ask_back": "Write your question; the agent reads it and proposes again.",
    "by_hand": "Say why it was done by hand; it stays in the record.",
    "keep": "Say why what was done is kept; the agent reads it.",
    "undo": "Say why what was done is taken back; it stays in the record.",
}
_UNANSWERED: dict[str, str] = {
    lifecycle.ReviewKind.IN_DOUBT: "Choose what you found.",
    lifecycle.ReviewKind.FAILURE: "Choose what next.",
    lifecycle.ReviewKind.BUDGET: "Choose what next.",
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the form is about, as far as checking it needs."""

    review_id: int
    kind: str
    reason_required: bool
    retype: str | None = None
    retype_label: str = ""
    measure: str = ""
    again: bool = False  # the same was done before


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it was sent; `errors` by field name, "" is the whole form."""

    verdict: str
    revision: int
    digest: str
    token: str
    evidence_number: int
    tightened: int | None
    rendered_at: datetime.datetime | None
    reason: str
    retype: str
    receipt: str
    then: str
    amount: str
    raise_by: int | None
    which: int | None = None
    errors: dict[str, str] = field(default_factory=dict)


def read(post: Mapping[str, str], asked: Asked) -> Given:
    """Return what was sent, with one sentence for each field that can't stay so."""
    verdict, _, chosen = post.get("verdict", "").partition("-")  # "keep-17" is one of several effects
    reason, retype, receipt = (_clean(post.get(name, "")) for name in ("reason", "retype", "receipt"))
    errors: dict[str, str] = {}
    if verdict not in VERDICTS.get(asked.kind, ()):
        errors["verdict"] = _UNANSWERED.get(asked.kind, "Choose an answer.")
    for name, text in (("reason", reason), ("receipt", receipt)):
        if len(text) > LONGEST:
            errors[name] = f"This is too long: {len(text):,} characters; at most {LONGEST:,} are kept."
        elif "\x00" in text:
            errors[name] = "This holds a NUL character, which can't be kept."
    if not reason and "reason" not in errors:
        if verdict == "reject":
            errors["reason"] = "Say why you reject it; the agent and the auditors read the reason."
        elif verdict in _NEED_WORDS:
            errors["reason"] = _NEED_WORDS[verdict]
        elif asked.kind not in {lifecycle.ReviewKind.ACTION, lifecycle.ReviewKind.PLAN}:
            errors["reason"] = "Give a reason: where you looked, or what changed."
        elif asked.reason_required:
            errors["reason"] = (
                "Say why this is done once more, beside what was done before."
                if asked.again
                else "Say what you checked; at this tier every approval needs a reason."
            )
    if verdict == "approve" and asked.retype is not None and retype.strip() != asked.retype.strip():
        what = asked.retype_label or "value"
        typed = "What you typed differs" if retype.strip() else "It is still empty"
        errors["retype"] = f"Type this exactly as it is shown: {what}. {typed}."
    amount, raise_by = _clean(post.get("amount", ""))[:40], None
    if verdict == "raise":
        raise_by = amounts.read(amount, measure=asked.measure)
        if raise_by is None:
            errors["amount"] = amounts.wanted(asked.measure)
    if verdict == "by_hand" and not receipt and "receipt" not in errors:
        errors["receipt"] = "Say what proves that you did it: a reference, a message id, a number."
    if verdict == "happened" and not receipt and "receipt" not in errors:
        errors["receipt"] = "Say how you know that it happened: a reference, a message id, what you saw."
    return Given(
        verdict=verdict,
        revision=number(post.get("revision", "")),
        digest=post.get("digest", "")[:64],
        token=post.get("token", "")[:64],
        evidence_number=number(post.get("evidence_number", "")),
        tightened=number(post["tightened"]) if "tightened" in post else None,
        rendered_at=marks.read(post.get("rendered_at", ""), review_id=asked.review_id),
        reason=reason,
        retype=retype,
        receipt=receipt,
        then="stop" if post.get("then") == "stop" else "tell",
        amount=amount,
        raise_by=raise_by,
        which=number(chosen) if chosen else None,
        errors=errors,
    )


def _clean(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def number(text: str) -> int:
    """Return the number, or one that no row has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1

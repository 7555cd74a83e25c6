"""The card of a question: what was put before a person, as one value that anybody can make again from the rows."""

from __future__ import annotations

from typing import Any

from runs import exact
from runs.models.review import Review


def card(review: Review) -> dict[str, Any]:
    """Return what the page of the question is made of at its current revision; large parts by their digests.

    Deadlines and groups aren't in it: they may change while the question stays the same.
    """
    shown: dict[str, Any] = {
        "review": review.pk,
        "run": review.run_id,
        "kind": review.kind,
        "title": review.title,
        "tier": review.tier,
        "revision": review.revision,
        "asks": review.digest,
        "evidence": review.evidence_number,
        "content": exact.digest_of(review.content),
    }
    action = review.action
    if action is not None:
        shown["action"] = {
            "tool": action.tool,
            "contract": action.contract,
            "arguments": action.digest,
            "preview": exact.digest_of(action.preview),
            "precondition": exact.digest_of(action.precondition),
            "terms": exact.digest_of(action.terms),
            "rule": action.rule,
            "policy": action.policy_version_id,
        }
    return shown


def digest(review: Review) -> str:
    """Return the digest of the card."""
    return exact.digest_of(card(review))

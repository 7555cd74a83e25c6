"""The terms on which something is asked, as they are stored with it, and back. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from runs.policies import rules


def read(terms: Mapping[str, Any]) -> rules.Verdict:
    """Return stored terms as the verdict that they came from."""
    rungs = tuple(rules.Rung(after, tuple(groups)) for after, groups in terms.get("escalate", ()))
    return rules.Verdict(**{**terms, "groups": tuple(terms["groups"]), "escalate": rungs})


def written(found: rules.Verdict) -> dict[str, Any]:
    """Return a verdict as it is stored."""
    terms = dataclasses.asdict(found)
    terms["groups"] = list(found.groups)
    terms["escalate"] = [[rung.after_seconds, list(rung.groups)] for rung in found.escalate]
    return terms

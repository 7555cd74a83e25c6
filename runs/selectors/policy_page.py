"""The policy page: a version in words, what its rules came to, who wrote which version and what it changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runs import models, patches, rights
from runs.policies import parsing, rules, words
from runs.selectors import deciding, edit_page, gate_yield, policy_models

SIZE = 50
DAYS = 30


def page(viewer: deciding.Viewer, params: Mapping[str, str]) -> policy_models.PolicyPage:
    """Return the version that `params` names, else the one in force, compared with the one before it."""
    current = in_force()
    versions = list(
        models.PolicyVersion.objects.filter(policy=current.policy_id)
        .select_related("created_by")
        .order_by("-number")[:SIZE]
    )
    wanted = params.get("version", "")
    known = {str(row.number): row for row in versions}
    row = known.get(wanted, current)
    before = known.get(str(row.number - 1))
    changes = () if before is None else edit_page.shown(changed(before.rules, row.rules))
    came = gate_yield.by_rule(DAYS, viewer.user) if row.pk == current.pk else {}
    return policy_models.PolicyPage(
        number=row.number,
        current=current.number,
        digest=row.digest,
        author=_author(row),
        reason=row.reason,
        at=row.created_at,
        rules=rows(row.rules, came),
        versions=tuple(_version(one, current) for one in versions),
        before=row.number - 1 if before is not None else 0,
        changes=changes,
        may_change=viewer.may(rights.Act.POLICIES),
        days=DAYS,
        of_newest=gate_yield.MOST if sum(one.asked for one in came.values()) >= gate_yield.MOST else 0,
    )


def in_force() -> models.PolicyVersion:
    """Return the version in force; there is one since the installation was made."""
    row = models.Installation.objects.select_related("policy_version__created_by").get(pk=1).policy_version
    assert row is not None
    return row


def rows(
    document: Mapping[str, Any], came: Mapping[str, policy_models.Yield] | None = None
) -> tuple[policy_models.RuleRow, ...]:
    """Return the rules of a document that can be read, in words. Refuses parsing.BadRules."""
    return tuple(
        policy_models.RuleRow(number=number, said=words.said(rule), came=(came or {}).get(rule.name))
        for number, rule in enumerate(parsing.parse(document), start=1)
    )


def drafted(found: Sequence[Mapping[str, Any]]) -> tuple[policy_models.RuleRow, ...]:
    """Return the rules of a draft in words; one that can't be read yet has its name alone."""
    return tuple(_drafted(number, rule) for number, rule in enumerate(found, start=1))


def _drafted(number: int, rule: Mapping[str, Any]) -> policy_models.RuleRow:
    try:
        said = words.said(parsing.parse({"version": parsing.VERSION, "rules": [rule]})[0])
    except parsing.BadRules:
        said = words.Said(name=str(rule.get("name") or "New rule"), about=(), verdict="", says="", terms=())
    return policy_models.RuleRow(number=number, said=said)


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[patches.Change, ...]:
    """Return what is different between two documents, by the name of the rule and of its part.

    The order of the rules is a part of its own: the first that matches decides.
    """
    return patches.changes(_by_name(before), _by_name(after))


_UNSAID: dict[str, Any] = {
    "match": {}, "groups": list(rules.REVIEWERS), "quorum": 1, "separation": False, "reason_required": False,
    "on_expiry": "deny", "escalate": [],
}  # fmt: skip
"""What a rule means that doesn't say it: written or left out, it is the same."""


def _by_name(document: Mapping[str, Any]) -> dict[str, Any]:
    named = {f"“{rule['name']}”": _said(rule) for rule in document["rules"]}
    return {**named, "order": "\n".join(rule["name"] for rule in document["rules"])}


def _said(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a rule that say something else than what holds without them."""
    found = {**rule, "groups": sorted(rule.get("groups", rules.REVIEWERS))}
    return {
        key: value
        for key, value in found.items()
        if key != "name" and value is not None and value != _UNSAID.get(key)
    }


def _version(row: models.PolicyVersion, current: models.PolicyVersion) -> policy_models.VersionRow:
    return policy_models.VersionRow(
        number=row.number,
        author=_author(row),
        reason=row.reason,
        at=row.created_at,
        current=row.pk == current.pk,
    )


def _author(row: models.PolicyVersion) -> str:
    return row.created_by.display() if row.created_by is not None else "ckptsite"

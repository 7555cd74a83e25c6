"""The smallest rows that the database accepts, one maker a table; each takes what shall differ."""

from __future__ import annotations

import datetime
import itertools
from typing import Any

from django.contrib.auth.models import Group
from django.utils import timezone

from runs import exact, models

_numbers = itertools.count(1)
DIGEST = exact.digest_of("some bytes")


def digest() -> str:
    """Return a digest that no other row has."""
    return exact.digest_of(next(_numbers))


def user() -> models.User:
    return models.User.objects.create(username=f"user-{next(_numbers)}", password="!")


def version(**more: Any) -> models.AgentVersion:
    agent = more.pop("agent", None) or models.Agent.objects.create(name=f"agent-{next(_numbers)}", title="A")
    given: dict[str, Any] = {
        "number": 1,
        "provider": "playbook",
        "tools": [],
        "definition": {},
        "input_schema": {},
        "budget": {},
        "digest": digest(),
    }
    return models.AgentVersion.objects.create(agent=agent, **(given | more))


def run(**more: Any) -> models.Run:
    number = next(_numbers) + 1_000_000
    given: dict[str, Any] = {
        "pk": number,
        "root_id": number,
        "agent_version": more.pop("agent_version", None) or version(),
        "title": "A run",
        "input": {},
        "input_digest": exact.digest_of({}),
        "labels": {},
        "path": [],
        "status": "queued",
        "wake_at": timezone.now(),
        "start_token": f"token-{number}",
        "budget": {},
        "created_by": more.pop("created_by", None) or user(),
    }
    return models.Run.objects.create(**(given | more))


def entry(**more: Any) -> models.Entry:
    given: dict[str, Any] = {
        "run": more.pop("run", None) or run(),
        "position": 1,
        "kind": "note",
        "content": {},
        "head": DIGEST,
    }
    return models.Entry.objects.create(**(given | more))


def fact(**more: Any) -> models.Fact:
    given: dict[str, Any] = {
        "run": more.pop("run", None) or run(),
        "number": 1,
        "kind": "wake",
        "content": {},
    }
    return models.Fact.objects.create(**(given | more))


def plan(**more: Any) -> models.Plan:
    given: dict[str, Any] = {
        "run": more.pop("run", None) or run(),
        "version": 1,
        "steps": [],
        "digest": DIGEST,
        "position": 1,
    }
    return models.Plan.objects.create(**(given | more))


def plan_step(**more: Any) -> models.PlanStep:
    given: dict[str, Any] = {
        "run": more.pop("run", None) or run(),
        "order": 0,
        "key": "one",
        "title": "One",
        "body": {},
    }
    return models.PlanStep.objects.create(**(given | more))


def action(**more: Any) -> models.Action:
    given: dict[str, Any] = {
        "run": more.pop("run", None) or run(),
        "reply_position": next(_numbers),
        "call_index": 0,
        "tool": "world.lookup",
        "contract": DIGEST,
        "effect": "irreversible",
        "tier": 2,
        "protection": "lookup",
        "status": "proposed",
        "digest": DIGEST,
        "identity": {},
        "identity_digest": DIGEST,
        "declaration": DIGEST,
        "terms": {},
    }
    return models.Action.objects.create(**(given | more))


def revision(**more: Any) -> models.Revision:
    given: dict[str, Any] = {
        "action": more.pop("action", None) or action(),
        "number": 1,
        "arguments": {},
        "digest": DIGEST,
    }
    return models.Revision.objects.create(**(given | more))


def occurrence(**more: Any) -> models.Occurrence:
    owner = more.pop("owner", None) or action()
    given: dict[str, Any] = {
        "root": owner.run,
        "tool": owner.tool,
        "identity": {},
        "identity_digest": DIGEST,
        "declaration": DIGEST,
        "n": 0,
        "key": digest(),
        "state": "open",
        "horizon": timezone.now(),
    }
    return models.Occurrence.objects.create(owner=owner, **(given | more))


def tenure(**more: Any) -> models.Tenure:
    given: dict[str, Any] = {
        "run": more.pop("run", None) or run(),
        "fence": 1,
        "host": "here",
        "pid": 1,
        "started": "then",
        "alone": True,
    }
    return models.Tenure.objects.create(**(given | more))


def evidence(**more: Any) -> models.Evidence:
    given: dict[str, Any] = {
        "action": more.pop("action", None) or action(),
        "number": 1,
        "attempt": 1,
        "outcome": "happened",
        "source": "worker",
        "content": {},
    }
    return models.Evidence.objects.create(**(given | more))


def review(**more: Any) -> models.Review:
    given: dict[str, Any] = {
        "run": more.pop("run", None) or run(),
        "kind": "action",
        "digest": DIGEST,
        "title": "May it?",
        "content": {},
        "groups": ["reviewer"],
        "due_at": timezone.now(),
        "expires_at": timezone.now(),
    }
    return models.Review.objects.create(**(given | more))


def decision(**more: Any) -> models.Decision:
    given: dict[str, Any] = {
        "review": more.pop("review", None) or review(),
        "revision": 1,
        "person": more.pop("person", None) or user(),
        "verdict": "approve",
        "content": {},
        "digest": DIGEST,
        "token": f"form-{next(_numbers)}",
    }
    return models.Decision.objects.create(**(given | more))


def policy_version(**more: Any) -> models.PolicyVersion:
    given: dict[str, Any] = {
        "policy": more.pop("policy", None) or models.Policy.objects.create(name=f"policy-{next(_numbers)}"),
        "number": 1,
        "rules": {},
        "digest": DIGEST,
    }
    return models.PolicyVersion.objects.create(**(given | more))


def audit_event(**more: Any) -> models.AuditEvent:
    given: dict[str, Any] = {
        "seq": next(_numbers) + 1_000_000,
        "at": timezone.now(),
        "act": "test",
        "subject": "test",
        "content": {},
        "channel": "test",
        "previous": digest(),
        "hash": digest(),
    }
    return models.AuditEvent.objects.create(**(given | more))


def blob(**more: Any) -> models.Blob:
    given: dict[str, Any] = {"sha256": digest(), "size": 0, "content": b""}
    return models.Blob.objects.create(**(given | more))


def imported(**more: Any) -> models.ImportedRun:
    given: dict[str, Any] = {
        "source": "run.jsonl",
        "number": 7,
        "title": "Elsewhere",
        "agent": "pays",
        "status": "succeeded",
        "lines": 1,
        "head": DIGEST,
        "file_digest": DIGEST,
        "about": {},
        "imported_by": user(),
    }
    return models.ImportedRun.objects.create(**(given | more))


def account(**more: Any) -> models.Account:
    given: dict[str, Any] = {"day": datetime.date(2026, 5, 1), "measure": "steps", "limit": 10}
    return models.Account.objects.create(**(given | more))


def day_budget(**more: Any) -> models.DayBudget:
    given: dict[str, Any] = {"number": 1, "limits": {}, "reason": "why", "created_by": user()}
    return models.DayBudget.objects.create(**(given | more))


def token(**more: Any) -> models.ApiToken:
    given: dict[str, Any] = {
        "person": more.pop("person", None) or user(),
        "name": "nightly",
        "kind": "agent",
        "prefix": "ckpt_abcdefg",
        "digest": digest(),
        "scopes": "start view",
        "form": f"form-{next(_numbers)}",
        "expires_at": timezone.now() + datetime.timedelta(days=1),
    }
    return models.ApiToken.objects.create(**(given | more))


def api_call(**more: Any) -> models.ApiCall:
    given: dict[str, Any] = {
        "token": more.pop("token", None) or token(),
        "key": "one",
        "request": DIGEST,
    }
    return models.ApiCall.objects.create(**(given | more))


def delivery(**more: Any) -> models.Delivery:
    given: dict[str, Any] = {
        "notice": more.pop("notice", None) or models.Notice.objects.create(kind="test"),
        "channel": "email",
        "target": "person 1",
    }
    return models.Delivery.objects.create(**(given | more))


def shift(**more: Any) -> models.Shift:
    """Somebody is on duty for a group."""
    group, _ = Group.objects.get_or_create(name="reviewer")
    given: dict[str, Any] = {
        "group": group,
        "person": user(),
        "days": "12345",
        "starts": datetime.time(9),
        "ends": datetime.time(17),
        "since": datetime.date(2026, 1, 1),
        "made_by": user(),
    }
    return models.Shift.objects.create(**given | more)

"""Rows that can't be: the database itself refuses each, by the name of the rule."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import Model
from django.utils import timezone

from runs import models
from runs.models.guards import Guard
from tests.core import agents_rows, rows

pytestmark = pytest.mark.django_db

Impossible = Callable[[], object]


def twice(make: Callable[..., object], **same: object) -> None:
    """Store two rows that agree in what must be unique."""
    make(**same)
    make(**same)


def _used_by_two() -> None:
    action = rows.action()
    rows.review(run=action.run, action=action)
    rows.review(run=action.run, action=action)


def _owned_twice() -> None:
    owner = rows.action()
    twice(rows.occurrence, owner=owner)


def _two_live_attempts() -> None:
    first = rows.run()
    rows.run(root_id=first.pk)


IMPOSSIBLE: dict[str, Impossible] = {
    "runs_run_status": lambda: rows.run(status="lost"),
    "runs_run_queued_is_due": lambda: rows.run(wake_at=None),
    "runs_run_running_is_leased": lambda: rows.run(status="running"),
    "runs_run_paused_is_owned": lambda: rows.run(status="paused", hold_by=rows.user()),
    "runs_run_ended_has_time": lambda: rows.run(status="succeeded"),
    "runs_run_folded_of_inbox": lambda: rows.run(folded=1),
    "runs_run_one_live_attempt": _two_live_attempts,
    "runs_run_child_of_handoff": lambda: rows.run(parent=rows.run()),
    "runs_importedrun_once": lambda: twice(rows.imported),
    "runs_importedline_position": lambda: twice(
        models.ImportedLine.objects.create,
        run=rows.imported(),
        holder=7,
        position=1,
        kind="note",
        content={},
        head=rows.DIGEST,
        created_at=timezone.now(),
    ),
    "runs_entry_kind": lambda: rows.entry(kind="rumour"),
    "runs_entry_position": lambda: twice(rows.entry, run=rows.run()),
    "runs_entry_checkpoint": lambda: [
        rows.entry(run=run, position=position, number=1, boundary="result", counters={})
        for run in [rows.run()]
        for position in (1, 2)
    ],
    "runs_entry_checkpoint_whole": lambda: rows.entry(number=1),
    "runs_fact_number": lambda: twice(rows.fact, run=rows.run()),
    "runs_plan_version": lambda: twice(rows.plan, run=rows.run()),
    "runs_planstep_state": lambda: rows.plan_step(state="almost"),
    "runs_planstep_key": lambda: [
        rows.plan_step(run=run, order=order) for run in [rows.run()] for order in (1, 2)
    ],
    "runs_planstep_order": lambda: [
        rows.plan_step(run=run, key=key) for run in [rows.run()] for key in ("a", "b")
    ],
    "runs_action_status": lambda: rows.action(status="maybe"),
    "runs_action_call": lambda: twice(rows.action, run=rows.run(), reply_position=1),
    "runs_action_intent_has_occurrence": lambda: rows.action(status="intent"),
    "runs_action_tier": lambda: rows.action(tier=4),
    "runs_revision_number": lambda: twice(rows.revision, action=rows.action()),
    "runs_occurrence_state": lambda: rows.occurrence(state="perhaps"),
    "runs_occurrence_number": _owned_twice,
    "runs_tenure_fence": lambda: twice(rows.tenure, run=rows.run()),
    "runs_tenure_gone_was_lost": lambda: rows.tenure(gone_at=timezone.now()),
    "runs_evidence_number": lambda: twice(rows.evidence, action=rows.action()),
    "runs_review_status": lambda: rows.review(status="ignored", closed_at=timezone.now()),
    "runs_review_kind": lambda: rows.review(kind="riddle", expires_at=None),
    "runs_review_votes_of_quorum": lambda: rows.review(votes=2),
    "runs_review_closed_has_time": lambda: rows.review(status="approved"),
    "runs_review_expiry_by_kind": lambda: rows.review(kind="in_doubt"),
    "runs_review_consumed_when_approved": lambda: rows.review(consumed_by=rows.action()),
    "runs_review_one_open": _used_by_two,
    "runs_review_one_of_account": lambda: [
        rows.review(kind="budget", expires_at=None, account=account)
        for account in [rows.account()]
        for _ in "ab"
    ],
    "runs_daybudget_of_agent": lambda: twice(rows.day_budget, agent=rows.version().agent),
    "runs_daybudget_of_everybody": lambda: twice(rows.day_budget),
    "runs_secret_has_source": lambda: models.Secret.objects.create(
        name="crm", source="table", uses=[], changed_by=rows.user()
    ),
    "runs_review_alone_when_released": lambda: rows.review(alone_by=rows.user()),
    "runs_decision_one_vote_in_place": lambda: twice(
        rows.decision, review=rows.review(), on_behalf_of=rows.user()
    ),
    "runs_shift_days": lambda: rows.shift(days="21"),
    "runs_shift_ends_after": lambda: rows.shift(until=datetime.date(2025, 1, 1)),
    "runs_delegation_to_another": lambda: [
        models.Delegation.objects.create(
            principal=one, delegate=one, reason="x", made_by=one, until=timezone.now()
        )
        for one in [rows.user()]
    ],
    "runs_scope_of_one": lambda: models.Scope.objects.create(agent=rows.version().agent),
    "runs_scope_person": lambda: twice(
        models.Scope.objects.create, person=rows.user(), agent=rows.version().agent
    ),
    "runs_scope_group": lambda: twice(
        models.Scope.objects.create, group=rows.shift().group, agent=rows.version().agent
    ),
    "runs_scope_to_one": lambda: models.Scope.objects.create(person=rows.user()),
    "runs_scope_person_project": lambda: twice(
        models.Scope.objects.create, person=rows.user(), project="north"
    ),
    "runs_scope_group_project": lambda: twice(
        models.Scope.objects.create, group=rows.shift().group, project="north"
    ),
    "runs_decision_one_vote": lambda: twice(rows.decision, review=rows.review(), person=rows.user()),
    "runs_rehearsal_newest": lambda: twice(
        models.Rehearsal.objects.create,
        review=rows.review(),
        by=rows.user(),
        arguments={},
        digest=rows.DIGEST,
        shown={},
    ),
    "runs_snooze_one_each": lambda: twice(
        models.Snooze.objects.create, review=rows.review(), person=rows.user(), until=timezone.now()
    ),
    "runs_verification_one_open": lambda: twice(
        models.Verification.objects.create, occurrence=rows.occurrence()
    ),
    "runs_verification_done_says": lambda: models.Verification.objects.create(
        occurrence=rows.occurrence(), outcome="holds"
    ),
    "runs_words_one_a_run": lambda: twice(models.Words.objects.create, run=rows.run(), words=""),
    "runs_savedview_one_name": lambda: twice(
        models.SavedView.objects.create, owner=rows.user(), name="Mine", query="tier=2"
    ),
    "runs_account_measure": lambda: rows.account(measure="patience"),
    "runs_account_scope": lambda: rows.account(root=rows.run()),
    "runs_account_counts": lambda: rows.account(advanced=-1),
    "runs_account_not_overdrawn": lambda: rows.account(spent=8, advanced=3),
    "runs_account_of_lineage": lambda: twice(rows.account, root=rows.run(), day=None),
    "runs_account_of_agent": lambda: twice(rows.account, agent=rows.version().agent),
    "runs_account_of_installation": lambda: twice(rows.account),
    "runs_agentversion_number": lambda: twice(rows.version, agent=rows.version().agent, number=2),
    "runs_agentversion_digest": lambda: [
        rows.version(agent=agent, number=number, digest=rows.DIGEST)
        for agent in [rows.version().agent]
        for number in (2, 3)
    ],
    "runs_policyversion_number": lambda: twice(rows.policy_version, policy=rows.policy_version().policy),
    "runs_audithead_single": lambda: models.AuditHead.objects.create(id=2),
    "runs_auditevent_chain": lambda: twice(rows.audit_event, previous=rows.DIGEST),
    "runs_blob_size": lambda: rows.blob(size=25 * 1024 * 1024 + 1),
    "runs_apitoken_ends": lambda: rows.token(expires_at=timezone.now() - timedelta(days=1)),
    "runs_apitoken_revoked_by_somebody": lambda: rows.token(revoked_at=timezone.now()),
    "runs_apitoken_machine_never_decides": lambda: rows.token(kind="agent", scopes="decide view"),
    "runs_apicall_one_key": lambda: twice(rows.api_call, token=rows.token()),
    "runs_apicall_answered_is_done": lambda: rows.api_call(code=200),
    "runs_delivery_one_each": lambda: twice(rows.delivery, notice=models.Notice.objects.create(kind="test")),
    "runs_delivery_status": lambda: rows.delivery(status="lost"),
    "runs_delivery_sent_has_time": lambda: rows.delivery(status="sent"),
    "runs_noticesettings_quiet_has_both": lambda: models.NoticeSettings.objects.create(
        person=rows.user(), quiet_from=datetime.time(22)
    ),
    "runs_noticesettings_gather_hours": lambda: models.NoticeSettings.objects.create(
        person=rows.user(), gather_hours=25
    ),
    "runs_slacklink_one_person": lambda: [
        models.SlackLink.objects.create(person=rows.user(), team="T1", member="U1") for _ in range(2)
    ],
    "runs_mcplook_one": lambda: twice(agents_rows.mcp_look, by=rows.user()),
    "runs_mcptool_description": lambda: [agents_rows.mcp_tool(number=number) for number in (1, 2)],
    "runs_mcptool_number": lambda: [agents_rows.mcp_tool(digest=digest * 64) for digest in "ab"],
    "runs_mcptool_offered": lambda: [
        agents_rows.mcp_tool(digest=digest * 64, number=number, offered=True)
        for digest, number in (("a", 1), ("b", 2))
    ],
    "runs_mcptool_accepted": lambda: agents_rows.mcp_tool(accepted_by=rows.user()),
    "runs_memorynote_name": lambda: twice(agents_rows.memory_note, agent=rows.version().agent),
    "runs_memoryversion_number": lambda: twice(
        agents_rows.memory_version, note=agents_rows.memory_note(), author=rows.user()
    ),
    "runs_memoryversion_writer": lambda: agents_rows.memory_version(note=agents_rows.memory_note()),
    "runs_tombstone_one": lambda: twice(
        models.Tombstone.objects.create, run=rows.run(), part="payloads", content={}
    ),
    "runs_tombstone_part": lambda: models.Tombstone.objects.create(run=rows.run(), part="all", content={}),
    "runs_installation_single": lambda: models.Installation.objects.create(id=2),
}


def constraints() -> set[str]:
    """The name of every constraint that our models declare."""
    return {
        name
        for model in apps.get_app_config("runs").get_models()
        if not model._meta.proxy
        for constraint in model._meta.constraints
        for name in (constraint.rules if isinstance(constraint, Guard) else [constraint.name])
    }


def stored(make: Impossible) -> None:
    """Make rows and let the database check what it would check at the end of the transaction."""
    with transaction.atomic():
        make()
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_every_constraint_has_its_impossible_row() -> None:
    assert constraints() == set(IMPOSSIBLE)


@pytest.mark.parametrize("name", sorted(IMPOSSIBLE))
def test_an_impossible_row_is_refused_by_its_rule(name: str) -> None:
    with pytest.raises(IntegrityError) as refused:
        stored(IMPOSSIBLE[name])
    cause = refused.value.__cause__
    assert cause is not None
    assert cause.diag.constraint_name == name  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "make",
    [
        rows.run, rows.entry, rows.fact, rows.plan, rows.plan_step, rows.action, rows.revision, rows.occurrence,
        rows.evidence, rows.review, rows.decision, rows.version, rows.policy_version, rows.audit_event, rows.blob,
        rows.account, rows.token, rows.api_call, rows.delivery, agents_rows.mcp_tool, agents_rows.memory_note,
    ],
)  # fmt: skip
def test_the_rows_that_these_vary_are_possible(make: Callable[[], Model]) -> None:
    row = make()
    stored(lambda: None)
    assert type(row)._default_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: rows.decision(token="form"), "runs_decision_token"),
        (lambda: rows.run(start_token="start"), "runs_run_start_token"),
    ],
)
def test_keys_and_tokens_are_single_use(make: Callable[[], object], names: str) -> None:
    make()
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        make()
    assert str(refused.value.__cause__.diag.constraint_name).startswith(names)  # type: ignore[union-attr]

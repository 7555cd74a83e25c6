"""Every act of people leaves exactly one line of its own in the audit chain, and every refusal one refused attempt."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from django.db import DatabaseError

from runs import models, transitions
from runs.engine import verifier
from runs.models import cards
from runs.transitions import (
    attempts,
    batches,
    branches,
    bulk_redrives,
    chain_checks,
    decisions,
    desk,
    edits,
    holds,
    plan_edits,
    redrives,
    refusals,
    rehearsals,
    restores,
    retention,
    starts,
    switches,
    tokens,
    undos,
    verifications,
)
from runs.transitions.actor import Actor
from tests import architecture, factories
from tests.core.tampering import unhindered
from tests.engine.conftest import go, step
from tests.rules import more, notice_scenes, session_scenes, team_scenes
from tests.rules.branching import checkpoint, through
from tests.rules.test_4_plan_edits import named, plan

pytestmark = pytest.mark.django_db(transaction=True)
Act = Callable[[Actor], Any]
_numbers = itertools.count()
BESIDE = {"attempts.of_refused", "attempts.note", "people.changed", "saved_views.save"}
BESIDE |= {"slack_decisions.decide"}  # it hands on to decisions.decide, which is marked
BESIDE |= {"starts.try_on"}  # it hands on to starts.start_run, which is marked
BESIDE |= {"mcp.seen"}  # what a server says; nobody decides anything by it


def acts_of_people() -> dict[str, Callable[..., Any]]:
    """Every transition that is marked as an act of people, by module and name."""
    found: dict[str, Callable[..., Any]] = {}
    for info in pkgutil.iter_modules(transitions.__path__):
        module = importlib.import_module(f"runs.transitions.{info.name}")
        for name, function in vars(module).items():
            if (
                inspect.isfunction(function)
                and hasattr(function, "noted")
                and function.__module__ == module.__name__
            ):
                found[f"{info.name}.{name}"] = function
    return found


def called_from_outside() -> Iterator[str]:
    """Every transition to which a page or a command says who acts."""
    modules = {info.name for info in pkgutil.iter_modules(transitions.__path__)}
    for path in architecture.modules("runs/views", "runs/management", "runs/api", "runs/demo"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id in modules and "by" in {k.arg for k in node.keywords}:
                yield f"{owner.id}.{node.func.attr}"


def test_what_people_can_call_is_marked_as_their_act() -> None:
    called = set(called_from_outside()) - BESIDE - session_scenes.UNAUDITED
    assert len(called) > 20
    assert called - set(acts_of_people()) == set()


def scenes(who: factories.People) -> dict[str, tuple[models.User, list[str], Act]]:
    """For each act of people: who may do it, the lines that it leaves, and how it is done."""
    first, second = (factories.held(who.operator, name=name) for name in ("one", "two"))
    approved, edited, batch, glass = (factories.held(who.operator, name=name) for name in "abcg")
    snoozed = factories.held(who.operator, name="d")
    desk.snooze(snoozed.pk, "1h", by=Actor(user=who.reviewer))
    decisions.decide(approved.pk, said(approved), by=Actor(user=who.reviewer))
    paused = factories.start(who.operator, step("lookup", "p"))
    holds.pause(paused.pk, reason="", by=Actor(user=who.operator))
    planned = factories.held(who.operator, name="old").run
    wanted = plan(planned)
    named(wanted, "lookup")["body"]["with"] = {"name": "new"}
    done = through(factories.start(who.operator, step("back", "sent")), who.reviewer)
    effect = models.Occurrence.objects.get(root=done)
    failed, other = factories.failed(who.operator), factories.failed(who.operator)
    sealed = go(factories.start(who.operator, step("look", "z")))
    agent = done.agent_version.agent.name
    models.Installation.objects.update(restored=True)

    def token() -> str:
        return f"token-{next(_numbers)}"

    def again(run: models.Run) -> dict[str, Any]:
        return {"checkpoint": checkpoint(run, "planned"), "reason": "Once more.", "token": token()}

    def arguments(review: models.Review) -> Any:
        assert review.action is not None
        return review.action.arguments() | {"amount": "7.00"}

    edit = edits.Edit(
        arguments=arguments(edited), reason="Sum.", revision=1, digest=edited.digest, token=token()
    )
    wish = bulk_redrives.Wish(run_id=other.pk, checkpoint=checkpoint(other, "planned"), token=token())
    forked = again(done)
    owned, _ = tokens.create(
        name="old", kind="agent", acts=[], days=7, form=token(), by=Actor(user=who.operator)
    )

    def take_over(by: Actor) -> models.Run:
        fork = models.Run.objects.get(mode="dry_run")
        return branches.take_over(fork.pk, reason="It is better.", by=by, token=token())

    def read_back(by: Actor) -> models.Verification:
        with mock.patch.object(verifications, "can", return_value=True):
            return verifications.ask(effect.pk, by=by)

    return {
        "decisions.decide": (
            who.reviewer, ["review.approve"], lambda by: decisions.decide(first.pk, said(first), by=by),
        ),
        "batches.decide_many": (
            who.reviewer, ["review.approve"], lambda by: batches.decide_many({batch.pk: said(batch)}, by=by),
        ),
        "decisions.withdraw": (who.reviewer, ["review.withdrawn"], lambda by: decisions.withdraw(approved.pk, by=by)),
        "decisions.extend": (
            who.reviewer, ["review.extended"], lambda by: decisions.extend(second.pk, reason="Later.", by=by),
        ),
        "edits.edit": (who.reviewer, ["review.edited"], lambda by: edits.edit(edited.pk, edit, by=by)),
        "rehearsals.ask": (
            who.reviewer, [], lambda by: rehearsals.ask(second.pk, arguments(second), by=by),
        ),  # it changes nothing, and nothing of it stays
        "desk.snooze": (who.reviewer, ["review.snoozed"], lambda by: desk.snooze(second.pk, "1h", by=by)),
        "desk.wake": (who.reviewer, ["review.woken"], lambda by: desk.wake(snoozed.pk, by=by)),
        "desk.hand_over": (
            who.reviewer,
            ["review.handed_over"],
            lambda by: desk.hand_over(second.pk, who.admin.pk, note="Yours.", by=by),
        ),
        "holds.pause": (who.operator, ["run.paused"], lambda by: holds.pause(planned.pk, reason="Wait.", by=by)),
        "holds.resume": (who.operator, ["run.resumed"], lambda by: holds.resume(paused.pk, by=by)),
        "holds.stop": (who.operator, ["run.stop_asked"], lambda by: holds.stop(paused.pk, reason="No.", by=by)),
        "plan_edits.save": (
            who.operator,
            ["plan.edited"],
            lambda by: plan_edits.save(
                planned.pk, plan_edits.Edit(base=1, steps=wanted, reason="It was wrong."), by=by
            ),
        ),
        "starts.start_run": (
            who.operator,
            ["run.started"],
            lambda by: starts.start_run(agent, input={}, title="New", by=by, token=token()),
        ),
        "branches.fork": (who.operator, ["run.forked"], lambda by: branches.fork(done.pk, by=by, **forked)),
        "branches.take_over": (who.operator, ["run.redriven"], take_over),
        "branches.separate": (
            who.operator,
            ["run.separated"],
            lambda by: branches.separate(
                sealed.pk, by=by, acknowledged=branches.earlier_effects(sealed.pk).digest, **again(sealed)
            ),
        ),
        "redrives.redrive": (
            who.operator, ["run.redriven"], lambda by: redrives.redrive(failed.pk, by=by, **again(failed)),
        ),
        "bulk_redrives.redrive_many": (
            who.operator,
            ["run.redriven"],
            lambda by: bulk_redrives.redrive_many([wish], reason="Once more.", by=by),
        ),
        "verifications.ask": (who.admin, ["effect.verify_asked"], read_back),
        "undos.ask": (
            who.operator,
            ["effect.undo_asked"],
            lambda by: undos.ask(effect.pk, reason="Wrong.", by=by, token=token()),
        ),
        "chain_checks.ask": (
            who.auditor,
            ["audit.check_asked"],
            lambda by: chain_checks.ask(whole=True, by=by),
        ),
        "retention.seal": (who.admin, ["lineage.sealed"], lambda by: retention.seal(sealed.pk, reason="Over.", by=by)),
        "switches.set_policy": (
            who.admin,
            ["policy.changed"],
            lambda by: switches.set_policy({"version": 1, "rules": []}, reason="Stricter.", by=by),
        ),
        "switches.pause_all": (who.admin, ["switch.off"], lambda by: switches.pause_all(True, by=by, reason="Fire.")),
        "switches.pause_agent": (
            who.admin, ["switch.off"], lambda by: switches.pause_agent(agent, True, by=by, reason="Fire."),
        ),
        "switches.pause_tool": (
            who.admin, ["switch.off"], lambda by: switches.pause_tool("world.back", True, by=by, reason="Fire."),
        ),
        "switches.throw": (who.admin, ["switch.on"], lambda by: switches.throw("all", False, by=by)),
        "tokens.create": (
            who.operator,
            ["token.created"],
            lambda by: tokens.create(name="CI", kind="agent", acts=["start"], days=7, form=token(), by=by),
        ),
        "tokens.revoke": (who.operator, ["token.revoked"], lambda by: tokens.revoke(owned.pk, by=by)),
        **notice_scenes.scenes(who, token),
        **session_scenes.scenes(who),
        **team_scenes.scenes(who, glass),
        "restores.release": (who.admin, ["database.released"], lambda by: restores.release(reason="Looked.", by=by)),
        **more.scenes(who),
    }  # fmt: skip


def said(review: models.Review) -> decisions.Answer:
    token = f"said-{next(_numbers)}"
    return decisions.Answer(verdict="approve", revision=1, digest=review.digest, token=token, reason="Read.")


@mock.patch.dict(settings.CKPTSITE, BREAK_GLASS=True)
def test_10_4_each_act_leaves_one_line_and_each_refusal_one_attempt(who: factories.People) -> None:
    acts = scenes(who)
    assert set(acts) == set(acts_of_people())
    stranger = Actor(user=who.viewer, channel="api", ip="10.0.0.9", on_behalf_of=who.admin)
    for name, (person, wanted, act) in acts.items():
        events, tried = models.AuditEvent.objects.count(), models.Refusal.objects.count()
        try:
            outcomes = act(stranger)
        except refusals.Refused:
            pass
        else:
            assert isinstance(outcomes, list), name  # many at once: what became of each is told
            assert [outcome.refusal is not None for outcome in outcomes] == [True], name
        assert models.AuditEvent.objects.count() == events, name
        row = models.Refusal.objects.latest("pk")
        assert models.Refusal.objects.count() == tried + 1, name
        assert (row.actor, row.on_behalf_of, row.channel, row.ip) == (
            who.viewer,
            who.admin,
            "api",
            "10.0.0.9",
        )
        assert row.reason, name
        assert row.code in {"not_yours", "stale"}, name

        tried += session_scenes.unproven(name, act, person)
        act(Actor(user=person, channel="page", ip="10.0.0.1"))
        new = list(models.AuditEvent.objects.order_by("seq")[events:])
        assert [event.act for event in new] == wanted, name
        assert models.Refusal.objects.count() == tried + 1, name
        for event in new:
            assert (event.actor, event.channel, event.ip) == (person, "page", "10.0.0.1"), name
            assert event.policy_version is not None, name
            assert (event.seen is not None) == (event.act in {"review.approve", "review.edited"}), name

    decided = models.AuditEvent.objects.filter(act="review.approve").earliest("seq")
    review = models.Review.objects.get(pk=int(decided.subject.split()[1]))
    assert decided.seen == cards.digest(review)

    _anchored()


def _anchored() -> None:
    """The clock puts a digest of the refused attempts into the chain, and what is changed afterwards is found."""
    with mock.patch.object(attempts, "BATCH", 10):
        assert attempts.anchor() == 10
        assert attempts.anchor() == 10
    assert attempts.anchor() == 0  # the rest is few, and new
    verifier.verify()
    rows = models.Refusal.objects.order_by("pk")
    with pytest.raises(DatabaseError, match="append-only"):
        rows.filter(pk=rows[0].pk).update(reason="never mind")
    changes: tuple[Callable[[], Any], ...] = (
        lambda: rows.filter(pk=rows[0].pk).update(reason="never mind"),
        lambda: rows.filter(pk=rows[9].pk).update(actor=None),
        lambda: rows.filter(pk=rows[3].pk).delete(),
    )
    for change in changes:
        with unhindered():
            change()
            with pytest.raises(verifier.Broken, match="refusals"):
                verifier.verify()

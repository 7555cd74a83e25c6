"""People and runs in every state, made by the product itself: started, advanced and decided for real."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group

from runs import models, rights, seed
from runs.demo import setup as demo
from runs.providers import declared
from runs.tools import contract
from runs.transitions import holds, memory, redrives, starts
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Look, World

_numbers = itertools.count(1)
TOOLS = tuple(
    f"world.{name}" for name in ("look", "allowed", "unprotected", "lookup", "idempotent", "costly", "back")
)
PASSWORD = "correct horse battery"


@dataclass(frozen=True, kw_only=True)
class People:
    """One person of each role, and one in no group."""

    viewer: models.User
    reviewer: models.User
    operator: models.User
    admin: models.User
    auditor: models.User
    nobody: models.User

    def named(self, role: str) -> models.User:
        """Return the person of the role."""
        found: models.User = getattr(self, role)
        return found


def person(name: str, *groups: str, password: str = "") -> models.User:
    """Return a new person in these groups, who can sign in only with a password."""
    user = models.User(username=name)
    if password:
        user.set_password(password)
    else:
        user.password = "!"
    user.save()
    user.groups.set(Group.objects.filter(name__in=groups))
    return user


def people() -> People:
    """Return one person of each role; the administrator may use Django's admin too."""
    found = {role: person(f"{role}-1", role) for role in rights.ROLES}
    admin = found["admin"]
    admin.is_staff = admin.is_superuser = True
    admin.save()
    return People(**found, nobody=person("nobody-1"))


def start(
    by: models.User,
    *steps: dict[str, Any],
    title: str = "A test",
    given: dict[str, str] | None = None,
    **more: Any,
) -> models.Run:
    """Return a new run of a playbook with these steps, on the input that is given."""
    name, given = f"agent-{next(_numbers)}", given or {}
    seed.register(
        declared.Agent(
            name=name,
            title="Test agent",
            provider="playbook",
            definition={"steps": [*steps, {"id": "end", "title": "End", "finish": {"summary": "All done."}}]},
            tools=TOOLS,
            input_schema={"type": "object", "properties": {one: {"type": "string"} for one in given}},
            **more,
        )
    )
    token = f"start-{next(_numbers)}"
    return starts.start_run(name, input=given, title=title, by=Actor(user=by), token=token)


@dataclass(frozen=True, kw_only=True)
class House:
    """One run in each state, with the questions that wait."""

    queued: models.Run
    asked: models.Run
    final: models.Run
    doubt: models.Run
    failed: models.Run
    done: models.Run
    rejected: models.Run
    paused: models.Run
    stopped: models.Run

    @property
    def runs(self) -> tuple[models.Run, ...]:
        """Return all of them."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


def held(by: models.User, *, tool: str = "lookup", name: str = "thing", **more: Any) -> models.Review:
    """Return the open review of a run that waits for it."""
    return only_review(go(start(by, step(tool, name), **more)))


def in_doubt(by: models.User, reviewer: models.User) -> models.Run:
    """Return a run with an effect that nobody knows to have happened."""

    def lost() -> None:
        raise ConnectionError("the answer was lost")

    run = go(start(by, step("unprotected", "parcel"), title="In doubt"))
    answer(only_review(run), reviewer, "approve")
    World.after = lost
    run = go(run)
    World.after = None
    assert only_review(run).kind == "in_doubt"
    return run


def failed(by: models.User) -> models.Run:
    """Return a run that failed at a look-up."""
    Look.failures = [contract.DidNotHappen("The file is not there.")]
    run = go(start(by, step("look", "file"), title="Failed"))
    Look.failures = []
    assert run.status == "failed"
    return run


def house(who: People) -> House:
    """Return a run in each state."""
    rejected = go(start(who.operator, step("lookup", "letter"), title="Rejected"))
    answer(only_review(rejected), who.reviewer, "reject", reason="Wrong customer.")
    done = go(start(who.operator, step("look", "it"), step("lookup", "mail"), title="Done"))
    answer(only_review(done), who.reviewer, "approve")
    stopped = start(who.operator, step("lookup", "other"), title="Stopped")
    holds.stop(stopped.pk, reason="No longer needed.", by=Actor(user=who.operator))
    paused = start(who.operator, step("lookup", "later"), title="Paused")
    holds.pause(paused.pk, reason="Until Monday.", by=Actor(user=who.operator))
    return House(
        queued=start(who.operator, step("lookup", "soon"), title="Queued"),
        asked=go(start(who.operator, step("look", "first"), step("lookup", "mail 2"), title="Asked")),
        final=go(start(who.operator, step("costly", "fee"), title="Final")),
        doubt=in_doubt(who.operator, who.reviewer),
        failed=failed(who.operator),
        done=go(done),
        rejected=go(rejected),
        paused=models.Run.objects.get(pk=paused.pk),
        stopped=go(stopped),
    )


def second(who: People, *, tool: str = "lookup") -> models.Review:
    """Return the question whether a parcel goes out once more: it was sent, and a later attempt has another sum."""
    run = go(start(who.operator, step(tool, "parcel"), title="Parcels"))
    number, call = run.checkpoint_number, models.Action.objects.get(run=run)
    answer(only_review(run), who.reviewer, "approve")
    go(run)
    new = redrives.redrive(
        run.pk,
        checkpoint=number,
        reason="another sum",
        by=Actor(user=who.operator),
        token=f"second-{next(_numbers)}",
        arguments={(call.reply_position, call.call_index): {"name": "parcel", "amount": "2.00"}},
    )
    return only_review(go(new))


def dry(by: models.User) -> models.Run:
    """Return a dry run of the demo's agent that is through."""
    return go(demo_run(by, mode=models.Run.Mode.DRY_RUN))


def demo_run(by: models.User, file: str = "north.csv", mode: str = models.Run.Mode.LIVE) -> models.Run:
    """Return a run of the demo's agent on its own input."""
    content = (Path(demo.FOLDER) / file).read_bytes()
    sha256 = starts.keep_blob(content)
    given = {"file": {"path": file, "sha256": sha256}, "as_of": "2026-11-27"}
    token = f"start-{next(_numbers)}"
    title = f"Open invoices, {file}"
    return starts.start_run(
        "receivables", input=given, title=title, by=Actor(user=by), token=token, mode=mode
    )


def remembered(by: models.User, text: str = "Pays late.") -> models.MemoryNote:
    """Return a note that a run has just kept, and after it a person's correction of another."""
    run = go(starts_with_notes(by, ("C-1", "pays", text), ("C-1", "tone", "Formal.")))
    assert run.status == "succeeded", run.error
    other = models.MemoryNote.objects.get(name="tone", agent=run.agent_version.agent)
    memory.change(other.pk, "Friendly.", reason="They asked for it.", base=1, by=Actor(user=by))
    return models.MemoryNote.objects.get(name="pays", agent=run.agent_version.agent)


def starts_with_notes(by: models.User, *notes: tuple[str, str, str], agent: str = "") -> models.Run:
    """Return a new run that keeps these notes, subject, name and text, and then recalls the first subject."""
    name = agent or f"remembers-{next(_numbers)}"
    calls = [
        {"tool": "memory.note", "arguments": {"subject": subject, "name": note, "text": text}}
        for subject, note, text in notes
    ]
    recall = {"tool": "memory.recall", "arguments": {"subject": notes[0][0]}}
    seed.register(
        declared.Agent(
            name=name,
            title="Remembers",
            provider="replay",
            definition={"replies": [{"calls": [call]} for call in [*calls, recall]]},
            tools=("memory.note", "memory.recall"),
            input_schema={"type": "object", "properties": {}},
        )
    )
    return starts.start_run(name, input={}, title="Notes", by=Actor(user=by), token=f"n{next(_numbers)}")

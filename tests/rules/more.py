"""Further scenes of what people do: what administrators keep for everybody."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from runs import agent_files, models
from runs.engine import run_imports
from runs.transitions import agents, limits, mcp, memory, secrets
from runs.transitions.actor import Actor
from tests import elsewhere, factories
from tests.engine.conftest import go, step

Scene = tuple[models.User, list[str], Callable[[Actor], Any]]


def scenes(who: factories.People) -> dict[str, Scene]:
    """For each act: who may do it, the lines that it leaves, and how it is done."""
    uses = [("*", "email.send")]
    described: dict[str, Any] = {
        "title": "",
        "description": "",
        "input": {},
        "output": None,
        "annotations": {},
    }
    (offered,) = mcp.seen("odd", {"note": described}, by=Actor(user=None, channel="shell"))
    told = agent_files.read(agent_files.BEGIN)
    agents.save(told, base=0, reason="New.", use=True, by=Actor(user=who.admin))
    agents.save(replace(told, model="2"), base=1, reason="Better.", use=False, by=Actor(user=who.admin))
    agent = models.Agent.objects.get(name="letters")
    note = models.MemoryNote.objects.create(agent=agent, name="tone", text="Be brief.", version=1, words="")
    file = elsewhere.file(go(factories.start(who.operator, step("look", "it"))))
    return {
        "imports.keep": (
            who.admin,
            ["run.imported"],
            lambda by: run_imports.bring(io.BytesIO(file), source="run.jsonl", by=by),
        ),
        "memory.change": (
            who.operator,
            ["memory.changed"],
            lambda by: memory.change(note.pk, "Be kind.", reason="Better.", base=1, by=by),
        ),
        "agents.save": (
            who.admin,
            ["agent.saved"],
            lambda by: agents.save(replace(told, model="3"), base=2, reason="Best.", use=False, by=by),
        ),
        "agents.use": (
            who.admin,
            ["agent.used"],
            lambda by: agents.use("letters", 2, reason="Tried out.", by=by),
        ),
        "mcp.ask_look": (
            who.admin,
            ["mcp.look_asked"],
            lambda by: mcp.ask_look("odd", by=by),
        ),
        "mcp.accept": (
            who.admin,
            ["mcp.accepted"],
            lambda by: mcp.accept(offered.pk, digest=offered.digest, by=by),
        ),
        "limits.set_limits": (
            who.admin,
            ["budget.set"],
            lambda by: limits.set_limits("all", {"calls": 900}, reason="Enough.", base=0, by=by),
        ),
        "secrets.set_secret": (
            who.admin,
            ["secret.set"],
            lambda by: secrets.set_secret("crm", "0123456789", uses=uses, by=by),
        ),
        "secrets.rotate": (who.admin, ["secrets.rotated"], lambda by: secrets.rotate(by=by)),
        "secrets.remove": (who.admin, ["secret.removed"], lambda by: secrets.remove("crm", by=by)),
    }

"""A vendors' server, and agents that are driven by a model on it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from runs import models, redaction, seed
from runs.providers import declared, llm
from runs.tools import contract, registry
from runs.transitions import starts
from runs.transitions.actor import Actor
from tests.engine import conftest as engine
from tests.engine.conftest import fresh_world, operator, person, reviewer
from tests.llm import wire

__all__ = ["fresh_world", "operator", "person", "reviewer"]

VENDORS = {"anthropic": "anthropic:claude-sonnet-5-5", "openai": "openai:gpt-4o"}
TOOLS = ("llm.long", "world.look", "world.allowed", "world.unprotected", "world.lookup")
KEY = "key-of-the-tests-4711"

_numbers = itertools.count(1)

Start = Callable[..., models.Run]


@registry.register
class Long(contract.Tool):
    """A read whose result is long."""

    name = "llm.long"
    effect = contract.Effect.READ
    text: ClassVar[str] = ""

    class Arguments(contract.Arguments):
        """What to read."""

        name: str = ""

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        return contract.Receipt(summary=f"Read {args.name}.", value=type(self).text)


@pytest.fixture(scope="session")
def vendors() -> Iterator[wire.Server]:
    """One server for all tests."""
    llm.load()  # seconds, which count as the first call's otherwise
    found, running = wire.serve()
    yield found
    running.shutdown()
    running.server_close()


@pytest.fixture
def server(vendors: wire.Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[wire.Server]:
    """The vendors' server as the environment names it, with nothing asked yet."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", vendors.address)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{vendors.address}/v1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    vendors.script[:], vendors.asked[:], vendors.keys[:], vendors.otherwise = [], [], [], None
    yield vendors
    redaction.forget()


@pytest.fixture
def start(operator: models.User) -> Start:
    """Start a run of an agent that a model drives."""

    def make(vendor: str = "anthropic", *, given: dict[str, Any] | None = None, **more: Any) -> models.Run:
        definition = {name: more.pop(name) for name in list(more) if name in _DEFINED}
        name = f"model-{next(_numbers)}"
        seed.register(
            declared.Agent(
                name=name,
                title="Test agent",
                provider="llm",
                model=VENDORS.get(vendor, vendor),
                instructions="You are tested.",
                definition=definition,
                tools=more.pop("tools", TOOLS),
                input_schema={"type": "object", "properties": {}},
                **more,
            )
        )
        by = Actor(user=operator)
        return starts.start_run(name, input=given or {}, title="A test", by=by, token=f"llm-{next(_numbers)}")

    return make


_DEFINED = {"output_schema", "facts", "max_tokens", "window", "temperature", "stream", "base_url", "key"}


def go(run: models.Run) -> models.Run:
    """Advance the run until it rests, in as many slices as a busy machine takes."""
    for _ in range(50):
        run = engine.go(run)
        if (run.status, run.reason) != ("queued", "slice"):
            break
    return run


def plan(*steps: str, **more: Any) -> wire.Tool:
    """A call of `plan` with these steps, named by their ids."""
    return ("plan", {"steps": [{"id": one, "title": f"Do {one}"} for one in steps], **more})


def finish(summary: str = "All done.", **more: Any) -> wire.Say:
    """The reply that ends a run."""
    return wire.Say(calls=(("finish", {"summary": summary, **more}),))

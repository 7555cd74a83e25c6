"""Tools are found once, by name, and an unsafe declaration is found before a run meets it."""

import datetime
from typing import Any, ClassVar

import pydantic
import pytest
from django.apps import apps
from django.core import checks

from runs import exact
from runs.tools import contract, registry, soundness


class Sound(contract.Tool):
    name = "test.sound"
    effect = contract.Effect.IRREVERSIBLE
    identity: ClassVar[tuple[str, ...] | None] = ("number",)

    class Arguments(contract.Arguments):
        number: int
        words: list[str] = pydantic.Field(default_factory=list)

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        return contract.Receipt(summary=str(args.number))


def variant(**changes: Any) -> type[contract.Tool]:
    return type("Variant", (Sound,), changes)


def messages(kind: type[contract.Tool]) -> list[str]:
    return [str(message.id) for message in soundness.problems(kind)]


def test_the_tools_of_every_installed_app_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_sources", [])
    names = [tool.name for tool in registry.all()]
    assert names == sorted(names)
    assert {"files.read_csv", "email.send", "receivables.assess", "ledger.post_late_fee"} <= set(names)
    assert registry.get("email.send").risk() == 2
    assert apps.is_installed("runs.demo")


def test_what_the_product_ships_is_sound() -> None:
    assert checks.run_checks(tags=["ckptsite"]) == []


def test_an_unknown_name_is_one_sentence() -> None:
    with pytest.raises(registry.UnknownTool) as caught:
        registry.get("shell.run")
    assert str(caught.value) == "There is no tool 'shell.run'."


def test_a_second_tool_of_the_same_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_tools", {})
    monkeypatch.setattr(registry, "_sources", [])
    assert registry.register(Sound) is Sound
    registry.register(Sound)  # the same class again, as after a reload
    with pytest.raises(registry.DuplicateTool, match=r"'test\.sound' is defined by .*Sound and by .*Variant"):
        registry.register(variant())
    assert [tool.name for tool in registry.all()] == ["test.sound"]


def test_a_tool_that_declares_too_little_is_refused() -> None:
    class Nameless(contract.Tool):
        effect = contract.Effect.READ

    with pytest.raises(TypeError, match="needs 'name'"):
        registry.register(Nameless)
    with pytest.raises(TypeError, match=r"has no run\(\)"):
        registry.register(variant(run=contract.Tool.run))


def test_unsafe_declarations_are_errors_and_a_missing_identity_is_a_warning() -> None:
    class Nested(pydantic.BaseModel):
        at: datetime.datetime = pydantic.Field(default_factory=lambda: datetime.datetime.now(datetime.UTC))

    class Unstable(contract.Arguments):
        number: int
        inner: list[Nested] | None = None

    assert messages(Sound) == []
    assert messages(variant(identity=None)) == ["runs.W001"]
    assert messages(variant(identity=None, identity_of=lambda self, args: 1)) == []
    assert messages(variant(identity=None, tier=1)) == []
    assert messages(variant(decisive=("sum",))) == ["runs.E001"]
    assert messages(variant(protection=contract.Protection.LOOKUP)) == ["runs.E002"]
    assert messages(variant(Arguments=Unstable)) == ["runs.E003"]
    assert messages(variant(effect=contract.Effect.READ, tier=1)) == ["runs.E004"]
    assert messages(variant(tier=0)) == ["runs.E005"]


def test_the_unstable_default_is_named_with_its_path() -> None:
    class Unstable(contract.Arguments):
        number: int
        at: datetime.datetime = pydantic.Field(default_factory=lambda: datetime.datetime.now(datetime.UTC))

    (problem,) = soundness.problems(variant(Arguments=Unstable))
    assert "default of 'at'" in problem.msg
    assert isinstance(problem, checks.Error)


class Backed(Sound):
    """A tool whose effects can be taken back."""

    name = "test.backed"
    tier = 2
    undo_tier = 1
    undo_protection = contract.Protection.LOOKUP

    def undo(self, args: Any, receipt: contract.Receipt, ctx: contract.Context) -> contract.Receipt:
        return contract.Receipt(summary=f"Not {args.number} any more, which was {receipt.summary}.")


def test_an_undo_is_a_tool_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_tools", {})
    registry.register(Backed)
    registry.register(Backed)
    registry.register(Sound)
    undo = registry.undo_of("test.backed")
    assert undo is not None
    assert undo is registry.get("test.backed.undo")
    assert registry.undo_of("test.sound") is registry.undo_of("test.backed.undo") is None
    assert (undo.risk(), undo.effect, undo.protection) == (1, "irreversible", "lookup")
    given = {"occurrence": 7, "arguments": {"number": 4}, "receipt": {"summary": "four", "value": [1]}}
    args = undo.parse(exact.stored(undo.settled(given)))
    assert undo.identity_of(args) == {"occurrence": 7}
    ctx: Any = None
    assert undo.run(args, ctx).summary == "Not 4 any more, which was four."
    with pytest.raises(contract.BadArguments, match=r"arguments\.number"):
        undo.settled(given | {"arguments": {"number": "x"}})


def test_an_undo_that_promises_a_look_up_has_one() -> None:
    assert messages(Backed) == ["runs.E007"]

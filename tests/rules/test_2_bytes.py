"""What was approved is bytes: files by content, arguments by their one text, the tool by what it promised."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pydantic
import pytest
from django.conf import LazySettings

from runs import exact, models, seed
from runs.engine import verifier
from runs.providers import declared
from runs.tools import contract, registry, soundness
from runs.transitions import starts
from runs.transitions.actor import Actor
from runs.transitions.steps.prepare import approval_digest
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Effect, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


class LetterArguments(contract.Arguments):
    """To whom, with which file."""

    name: str
    attachment: contract.FileRef


@registry.register
class SendLetter(contract.Tool):
    """Sends the bytes that were approved, whatever stands on the disk by now."""

    name = "world.letter"
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    identity = ("name",)
    timeout = datetime.timedelta(seconds=2)
    Arguments = LetterArguments
    sent: ClassVar[list[bytes]] = []

    def run(self, args: LetterArguments, ctx: contract.Context) -> contract.Receipt:
        type(self).sent.append(ctx.read(args.attachment))
        World.write(args.name, ctx.idempotency_key)
        return contract.Receipt(summary="Sent.", value={})


@pytest.fixture
def letters(operator: models.User, tmp_path: Path, settings: LazySettings) -> Callable[[Any], models.Run]:
    """Start a run that sends one letter with this attachment, from a folder with files in it."""
    settings.CKPTSITE_FILES_DIR = str(tmp_path / "files")
    (tmp_path / "files" / "out").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("not yours")
    (tmp_path / "files" / "link").symlink_to(tmp_path / "secret.txt")
    SendLetter.sent = []
    numbers = iter(range(1_000))

    def start(attachment: Any, **given: Any) -> models.Run:
        letter = {
            "id": "letter", "title": "Letter", "tool": "world.letter",
            "with": {"name": "letter", "attachment": attachment},
        }  # fmt: skip
        end = {"id": "end", "title": "End", "finish": {"summary": "Done."}}
        name = f"letters-{next(numbers)}"
        seed.register(
            declared.Agent(
                name=name, title="Letters", provider="playbook", definition={"steps": [letter, end]},
                tools=("world.letter",), input_schema={"type": "object", "properties": {}},
            )
        )  # fmt: skip
        return starts.start_run(name, input=given, title="Letters", by=Actor(user=operator), token=name)

    return start


@pytest.mark.parametrize("named", ["out/letter.txt", {"path": "out/letter.txt"}])
def test_2_11_a_file_that_changes_after_approval_is_sent_as_it_was_approved(
    letters: Callable[[Any], models.Run], reviewer: models.User, tmp_path: Path, named: Any
) -> None:
    """An agent names a path; a sibling rewrites the file; the approved bytes go out."""
    file = tmp_path / "files" / "out" / "letter.txt"
    file.write_bytes(b"approved")
    run = go(letters(named))
    review = only_review(run)
    assert review.action is not None
    assert review.action.arguments()["attachment"] == {
        "path": "out/letter.txt", "sha256": exact.digest_bytes(b"approved"),
    }  # fmt: skip
    answer(review, reviewer, "approve")
    file.write_bytes(b"other bytes")
    assert go(run).status == "succeeded"
    assert SendLetter.sent == [b"approved"]
    verifier.verify()


def test_2_11_a_file_of_the_run_is_found_by_its_name(letters: Any, reviewer: models.User) -> None:
    """What a person gave to the run comes before the folder, and needs none."""
    sha256 = starts.keep_blob(b"given")
    run = go(letters("in.txt", file={"path": "in.txt", "sha256": sha256}))
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    assert SendLetter.sent == [b"given"]


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("out/missing.txt", "there is no file 'out/missing.txt' for this run."),
        ("../secret.txt", "there is no file '../secret.txt' for this run."),
        ("/etc/passwd", "there is no file '/etc/passwd' for this run."),
        ("link", "there is no file 'link' for this run."),
        ({"path": "x", "sha256": "0" * 64}, "is not kept here under that digest."),
    ],
)
def test_2_11_what_is_no_file_of_the_run_is_refused_in_one_sentence(
    letters: Any, named: Any, sentence: str
) -> None:
    """Nothing outside the folder, nothing through a link, no digest of bytes that nobody has."""
    run = go(letters(named))
    assert run.status == "failed"
    assert sentence in run.error
    assert SendLetter.sent == []


def declared_tool(arguments: type[pydantic.BaseModel], *, tier: int = 2) -> type[contract.Tool]:
    return type(
        "Made",
        (Effect,),
        {"name": "made", "Arguments": arguments, "identity": None, "decisive": (), "tier": tier},
    )


class BarePath(contract.Arguments):
    """A path as such."""

    source: list[Path]


class LikeAPath(contract.Arguments):
    """A text that seems to be one."""

    attachment_file: str | None = None


class Kept(contract.Arguments):
    """By content, and texts that are no paths."""

    attachments: tuple[contract.FileRef, ...]
    profile: str


def test_2_11_a_tool_above_tier_1_takes_no_bare_path() -> None:
    """A path is an error, what looks like one a warning; below tier 2, and by content, it is neither."""

    def found(arguments: type[pydantic.BaseModel], tier: int = 2) -> set[str]:
        messages = soundness.problems(declared_tool(arguments, tier=tier))
        return {str(message.id) for message in messages} & {"runs.E006", "runs.W002"}

    assert found(BarePath) == {"runs.E006"}
    assert found(LikeAPath) == {"runs.W002"}
    assert found(Kept) == found(BarePath, tier=1) == found(LikeAPath, tier=1) == set()


def test_2_12_an_approval_names_everything_that_it_is_for(start: Start) -> None:
    """Another action, revision, tool, contract, argument, preview or snapshot of the world is another digest."""
    run = go(start(step("costly", "fee")))
    action = models.Action.objects.get(run=run)
    approved = approval_digest(action)
    assert approved == only_review(run).digest
    other = exact.digest_of("other")
    for part, value in {
        "pk": action.pk + 1, "revision": 2, "tool": "world.lookup", "contract": other, "digest": other,
        "preview": {"summary": "Other."}, "precondition": {"balance": 7},
    }.items():  # fmt: skip
        row = models.Action.objects.get(pk=action.pk)
        setattr(row, part, value)
        assert approval_digest(row) != approved, part


def test_2_12_a_contract_is_what_was_promised_and_not_the_code() -> None:
    """Schema, effect, protection, identity, decisive, version, tier; neither code nor descriptions."""

    class More(contract.Arguments):
        """One argument more."""

        name: str
        more: int = 0

    class Told(contract.Arguments):
        """The same argument, described at length."""

        name: str = pydantic.Field(description="Whom", title="Name of the person", examples=["x"])

    class Plain(contract.Arguments):
        name: str

    def made(**changes: Any) -> str:
        kind: type[Effect] = type("Made", (Effect,), {"name": "made", "Arguments": Plain, **changes})
        return kind.contract()

    changed = [
        made(Arguments=More), made(effect=contract.Effect.REVERSIBLE), made(protection=contract.Protection.LOOKUP),
        made(identity=None), made(decisive=()), made(version=2), made(tier=3), made(name="other"),
    ]  # fmt: skip
    assert len({made(), *changed}) == len(changed) + 1
    assert made() == made(Arguments=Told) == made(run=lambda *_: None, title="Other", __doc__="Other words.")


class Shifting(contract.Arguments):
    """Reads its own result differently each time."""

    name: str

    @pydantic.field_validator("name")
    @classmethod
    def _longer(cls, value: str) -> str:
        return value + "!"


class Stamped(contract.Arguments):
    """Its default is the moment."""

    name: str = "x"
    at: datetime.datetime = pydantic.Field(default_factory=lambda: datetime.datetime.now(datetime.UTC))


def test_2_13_arguments_are_settled_once_and_what_shifts_is_refused() -> None:
    """Coerced and completed at the proposal; a validator that changes its own result can't be approved."""
    assert Effect.settled({"name": "x"}) == '{"amount":"1.00","name":"x","note":""}'
    with pytest.raises(contract.BadArguments, match="change each time"):
        declared_tool(Shifting).settled({"name": "x"})


def test_2_13_unequal_bytes_park_the_run(
    start: Start, reviewer: models.User, operator: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After approval the tool reads its arguments differently: nothing runs, somebody is asked."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    tool = type(registry.get("world.lookup"))
    real = tool.settled
    with monkeypatch.context() as patched:
        patched.setattr(tool, "settled", staticmethod(lambda value, **_: real(value).replace("mail", "male")))
        run = go(run)
    review = only_review(run)
    assert (review.kind, World.effects()) == ("failure", [])
    assert "would be read differently" in review.content["cause"]
    verifier.verify()


def test_2_13_a_default_that_is_made_anew_fails_the_registry_check() -> None:
    """What a person approves must not depend on when it is read."""
    messages = [
        message for message in soundness.problems(declared_tool(Stamped)) if message.id == "runs.E003"
    ]
    assert "'at'" in messages[0].msg

"""A tool's declared protection is proven, or it is said in plain words where it is untrue."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from django.conf import LazySettings

from runs import testing
from runs.demo import tools as demo
from runs.testing.world import OutsideWorld
from runs.tools import contract
from runs.tools.email import SendToFolder
from tests.testing import tools

pytest_plugins = ["runs.testing.plugin"]
Worlds = Callable[..., OutsideWorld]
Prove = Callable[..., testing.Proof]


@pytest.mark.parametrize(
    ("kind", "remembers"), [(tools.Post, False), (tools.Idempotent, True), (tools.Lookup, False)]
)
def test_an_honest_tool_is_proven(
    kind: type[tools.Post], remembers: bool, outside_world: Worlds, protection_proof: Prove
) -> None:
    world = outside_world(remembers=remembers)
    with mock.patch.object(tools.Post, "url", world.url):
        proof = protection_proof(kind, {"text": "hello"}, world=world)
    assert proof.untrue == []
    assert (proof.kills > 5, proof.sends > proof.kills) == (True, True)
    assert len(world.store.read_text().splitlines()) > 5


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            tools.Idempotent,
            "2 effects stand after the same key was sent twice; 1 should",
        ),  # this world forgets keys
        (tools.ForgetsItsKey, "0 effects stand after one run; 1 should"),
        (tools.LooksByText, "lookup() found another key's effect"),
        (tools.FindsNothing, "lookup() did not find an effect by one of its keys"),
        (tools.PreviewPosts, "preview() changed the world"),
        (tools.PreconditionPosts, "precondition() changed the world"),
        (tools.CallsTimeoutsDefinite, "it raised DidNotHappen (no answer), but the effect stands"),
        (tools.RetriesByItself, "2 effects stand after the world failed (drop_after); 1 should"),
        (tools.ActsTooLate, "it acts although ctx.remaining() is 0"),
    ],
)
def test_a_lying_tool_is_found_out(
    kind: type[tools.Post], words: str, outside_world: Worlds, protection_proof: Prove
) -> None:
    world = outside_world()
    with mock.patch.object(tools.Post, "url", world.url), pytest.raises(testing.Untrue) as found:
        protection_proof(kind, {"text": "hello"}, world=world)
    assert words in str(found.value)


def test_half_an_effect_that_is_found_as_a_whole_one_is_found_out(tmp_path: Path) -> None:
    with (
        mock.patch.object(tools.WritesInTwoSteps, "folder", tmp_path, create=True),
        pytest.raises(testing.Untrue, match="lookup\\(\\) says found after a kill at line"),
    ):
        testing.prove(tools.WritesInTwoSteps, {}, world=tools.TwoStepsFolder(tmp_path))


class Letters:
    """The mail folder: a letter is a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def effects(self, key: str) -> int:
        return len(list(self.folder.glob(f"{key}*.eml")))

    def state(self) -> object:
        return sorted((path.name, path.read_bytes()) for path in self.folder.glob("*.eml"))


class Ledger:
    """The ledger: a fee is a row, as long as no later one books it back."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _rows(self, where: str = "1 = 1", *values: str) -> list[tuple[object, ...]]:
        if not self.path.exists():
            return []
        with contextlib.closing(sqlite3.connect(self.path)) as ledger:
            try:
                return ledger.execute(f"SELECT * FROM late_fee WHERE {where} ORDER BY id", values).fetchall()
            except sqlite3.OperationalError:
                return []

    def effects(self, key: str) -> int:
        posted = self._rows("key = ?", key)
        if not posted:
            return 0
        return max(0, len(posted) - len(self._rows("amount LIKE '-%' AND id > ?", str(posted[-1][0]))))

    def state(self) -> object:
        return self._rows()


def test_letters_in_the_folder_keep_what_they_declare(settings: LazySettings, tmp_path: Path) -> None:
    settings.CKPTSITE_MAIL_DIR = tmp_path / "mail"
    letter = {"to": "pay@maple.example.com", "subject": "Open", "body": "Please pay.", "reference": "R 1"}
    proof = testing.prove(SendToFolder, letter, world=Letters(tmp_path / "mail"))
    assert proof.protection == contract.Protection.LOOKUP
    assert proof.kills > 20


def test_late_fees_keep_what_they_declare(settings: LazySettings, tmp_path: Path) -> None:
    settings.CKPTSITE_LEDGER = tmp_path / "ledger.sqlite3"
    fee = {
        "invoice_no": "M-1", "customer": "Maple", "amount": "25.00", "currency": "EUR", "period": "2026-11",
    }  # fmt: skip
    proof = testing.prove(demo.PostLateFee, fee, world=Ledger(tmp_path / "ledger.sqlite3"))
    assert proof.protection == contract.Protection.LOOKUP
    assert proof.kills > 10

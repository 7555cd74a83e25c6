"""`email.send`: what is approved is one letter to one address, and it is written once or not at all."""

import email
import email.policy
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from runs.tools import configured, contract, mail_folder, registry
from runs.tools import email as sending
from tests.tools.call import Call

LETTER = {
    "to": "ada@example.com",
    "subject": "Invoice N-1 is open",
    "body": "Dear Ada,\n\nplease pay.\n",
    "reference": "Reminder 1 for invoice N-1",
}


def parse(**changes: Any) -> Any:
    return sending.SendToFolder.parse(LETTER | changes)


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.CKPTSITE_MAIL_DIR = tmp_path / "mail"
    settings.DEFAULT_FROM_EMAIL = "Nordhof <office@example.com>"
    return tmp_path / "mail"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"to": "ada"}, "to: this is not one plain e-mail address"),
        ({"to": "ada@example"}, "to: this is not one plain"),
        ({"to": "ada@example.com, eve@example.com"}, "to: this is not one plain"),
        ({"to": "ada@example.com\nBcc: eve@example.com"}, "to: this is not one plain"),
        ({"to": "Ada <ada@example.com>"}, "to: this is not one plain"),
        (
            {"to": "ada@ex\u0430mple.com"},
            "to: this is not one plain",
        ),  # a Cyrillic letter that looks like an a
        ({"to": f"{'a' * 65}@example.com"}, "to: this is not one plain"),
        ({"to": "ada@example.com "}, "to: this is not one plain"),
        ({"subject": "Hello\r\nBcc: eve@example.com"}, "subject: line breaks and control characters"),
        ({"subject": "Hello\u2028there"}, "subject: line breaks and control characters"),
        ({"subject": ""}, "subject: string should have at least 1 character"),
        ({"subject": " Hello"}, "subject: spaces at the start"),
        ({"subject": "x" * 201}, "subject: string should have at most 200"),
        ({"body": " \n"}, "body: the letter is empty"),
        ({"body": "a\x00b"}, "body: control characters"),
        ({"body": "a\ud800b"}, "body: "),
        ({"reference": "a\tb"}, "reference: line breaks"),
        ({"cc": "eve@example.com"}, "cc: extra inputs are not permitted"),
    ],
)
def test_what_is_no_letter_is_refused_in_one_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(contract.BadArguments) as caught:
        parse(**changes)
    assert str(caught.value).startswith(f"email.send: {words}")
    assert "\n" not in str(caught.value)


def test_the_configuration_decides_how_an_unknown_outcome_is_resolved() -> None:
    none = configured.Email()
    by_file, by_server = sending.variant("", none), sending.variant("mail.example.com", none)
    assert by_file.protection == contract.Protection.LOOKUP
    assert by_server.protection == contract.Protection.UNPROTECTED
    assert by_file.contract() != by_server.contract()
    assert (by_file.name, by_server.name) == ("email.send", "email.send")
    assert type(registry.get("email.send")) is by_file


def test_the_reference_is_the_identity_without_case_and_spacing() -> None:
    tool = sending.SendToFolder()
    one = tool.identity_of(parse(reference="Reminder 1  for invoice n-1", to="eve@example.com", body="Other"))
    assert one == tool.identity_of(parse()) == {"reference": "reminder 1 for invoice n-1"}


def test_the_preview_shows_the_whole_letter(folder: Path) -> None:
    preview = sending.SendToFolder().preview(parse(), Call())
    assert preview.target == "ada@example.com"
    assert preview.body == LETTER["body"]
    assert ("Subject", "Invoice N-1 is open") in preview.facts
    assert ("From", "Nordhof <office@example.com>") in preview.facts
    assert "can't be undone" in preview.reversal
    assert not folder.exists()


@pytest.mark.parametrize("body", ["plain\r\ntext", "Grüße\n.\nein Punkt", "x" * 3000, "From here\n"])
def test_a_letter_is_a_file_that_any_mail_program_reads(folder: Path, body: str) -> None:
    receipt = sending.SendToFolder().run(parse(body=body, subject="Grüße für €"), Call(idempotency_key="abc"))
    (file,) = folder.iterdir()
    assert file.name == "abc.eml"
    message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
    assert isinstance(message, email.message.EmailMessage)
    assert message["To"] == "ada@example.com"
    assert message["Subject"] == "Grüße für €"
    assert message["From"] == "Nordhof <office@example.com>"
    assert message["Message-ID"] == receipt.value["message_id"] == "<abc@example.com>"
    assert message.get_content().splitlines() == body.splitlines()
    assert receipt.summary == "E-mail sent to ada@example.com."


def test_a_letter_is_written_once_and_never_over(folder: Path) -> None:
    tool, call = sending.SendToFolder(), Call(idempotency_key="abc")
    tool.run(parse(), call)
    first = (folder / "abc.eml").read_bytes()
    again = tool.run(parse(body="Other words"), call)
    assert (folder / "abc.eml").read_bytes() == first
    assert again.value["answer"] == "abc.eml"
    assert [file.name for file in folder.iterdir()] == ["abc.eml"]


def test_twenty_writers_of_one_key_leave_one_letter(folder: Path) -> None:
    barrier = threading.Barrier(20)

    def write(number: int) -> None:
        barrier.wait()
        mail_folder.keep(folder, "abc", f"letter {number}".encode())

    threads = [threading.Thread(target=write, args=[number]) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [file.name for file in folder.glob("*.eml")] == ["abc.eml"]
    assert (folder / "abc.eml").read_bytes().startswith(b"letter ")


def test_lookup_asks_for_every_key(folder: Path) -> None:
    tool = sending.SendToFolder()
    assert tool.lookup(parse(), ["old", "abc"], Call()) is None
    tool.run(parse(), Call(idempotency_key="abc"))
    found = tool.lookup(parse(), ["old", "abc"], Call())
    assert found is not None
    assert found.value["message_id"] == "<abc@example.com>"


def test_a_key_that_is_no_file_name_is_hashed(folder: Path) -> None:
    mail_folder.keep(folder, "../../etc/passwd", b"letter")
    (file,) = folder.iterdir()
    assert len(file.stem) == 64
    assert mail_folder.find(folder, "../../etc/passwd") == file.name


def test_what_fails_before_the_letter_stands_there_did_not_happen(folder: Path) -> None:
    tool = sending.SendToFolder()
    with pytest.raises(contract.DidNotHappen, match="time for this letter was over"):
        tool.run(parse(), Call(seconds=0))
    with pytest.raises(contract.DidNotHappen, match="without a key"):
        tool.run(parse(), Call(idempotency_key=""))
    folder.write_text("a file where the folder should be")
    with pytest.raises(contract.DidNotHappen, match="could not be written: File exists"):
        tool.run(parse(), Call())


def test_a_full_disk_may_be_tried_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(contract.DidNotHappen, match="No space left") as caught:
        mail_folder.keep(folder, "abc", b"letter")
    assert caught.value.retryable
    monkeypatch.undo()
    assert mail_folder.find(folder, "abc") is None
    assert mail_folder.keep(folder, "abc", b"letter") == "abc.eml"
    assert [file.name for file in folder.iterdir()] == ["abc.eml"]


CRASH = """
import os, pathlib, sys
from runs.tools import mail_folder
real = os.link
def link(*args):
    if sys.argv[2] == "before":
        os._exit(9)
    real(*args)
    os._exit(9)
os.link = link
mail_folder.keep(pathlib.Path(sys.argv[1]), "abc", b"letter")
"""


@pytest.mark.parametrize(("when", "stands"), [("before", False), ("after", True)])
def test_a_process_that_dies_leaves_the_whole_letter_or_none(folder: Path, when: str, stands: bool) -> None:
    died = subprocess.run([sys.executable, "-c", CRASH, str(folder), when], check=False, timeout=30)
    assert died.returncode == 9
    assert (mail_folder.find(folder, "abc") is not None) is stands
    assert mail_folder.keep(folder, "abc", b"letter, second time") == "abc.eml"
    assert (folder / "abc.eml").read_bytes() == (b"letter" if stands else b"letter, second time")
    assert [file.name for file in folder.iterdir()] == ["abc.eml"]

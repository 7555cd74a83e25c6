"""Letters over SMTP that are found again in a mailbox, on real servers of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from runs.tools import configured, contract, mail_store
from runs.tools import email as sending
from tests.tools import post
from tests.tools.call import Call
from tests.tools.test_email import parse

TOOL = sending.SendAndFind()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with post.mailbox(tmp_path_factory.mktemp("imap")) as port:
        yield port


@pytest.fixture
def office(settings: Settings, port: int) -> Iterator[post.Filing]:
    """A mail server that files what it takes, and sends a copy along."""
    handler = post.Filing(port=port)
    with handler.served() as smtp:
        post.named(settings, smtp)
        told(settings, port)
        yield handler


def told(settings: Settings, port: int, **more: Any) -> None:
    sent = f"imap://{post.USER}@127.0.0.1:{port}/Sent"
    settings.CKPTSITE_TOOLS = {
        "email": {"sent": sent, "password": post.PASSWORD, "copy": "archive@example.com"} | more
    }


def test_what_was_taken_is_found_by_its_key_and_nothing_else(office: post.Filing) -> None:
    """Also when the answer was lost; a letter whose Message-ID only begins the same is another one."""
    args = parse(subject="Grüße aus Köln")
    for key in ("letter-1", "letter-12"):
        assert TOOL.lookup(args, [key], Call()) is None
    receipt = TOOL.run(args, Call(idempotency_key="letter-12"))
    assert office.taken[0][0] == ["ada@example.com", "archive@example.com"]
    assert TOOL.lookup(args, ["letter-1"], Call()) is None
    found = TOOL.lookup(args, ["letter-0", "letter-12"], Call())
    assert found is not None
    assert found.value["message_id"] == receipt.value["message_id"] == "<letter-12@example.com>"
    assert TOOL.verify(args, receipt, Call()).holds
    other = TOOL.verify(parse(to="eve@example.com"), receipt, Call())
    assert (other.holds, other.summary) == (
        False,
        "The letter there is to ada@example.com, with the subject 'Grüße aus Köln'.",
    )
    gone = contract.Receipt(summary="", value={"message_id": "<letter-3@example.com>"})
    assert not TOOL.verify(args, gone, Call()).holds
    assert "with a copy to archive@example.com" in dict(TOOL.preview(args, Call()).facts)["Way out"]


def test_a_refused_copy_sends_nothing(office: post.Filing) -> None:
    """Both get the letter, or neither: else it couldn't be found."""
    office.refused = "archive@example.com"
    with pytest.raises(contract.DidNotHappen, match="refused the address archive@"):
        TOOL.run(parse(), Call(idempotency_key="refused"))
    assert office.taken == []


def test_a_mailbox_that_cant_be_looked_in_proves_nothing(
    office: post.Filing, settings: Settings, port: int
) -> None:
    """A wrong password, no such mailbox, nobody there, no time: nobody knows."""
    sent = f"imap://{post.USER}@127.0.0.1:{port}"
    for more in (
        {"password": "wrong"},
        {"sent": f"{sent}/Elsewhere"},
        {"sent": f"imap://x@127.0.0.1:{1}/Sent"},
    ):
        told(settings, port, **more)
        with pytest.raises(mail_store.Unreadable):
            TOOL.lookup(parse(), ["letter"], Call())
    told(settings, port)
    with pytest.raises(mail_store.Unreadable, match="time was over"):
        TOOL.lookup(parse(), ["letter"], Call(seconds=0.1))


@pytest.mark.parametrize(
    "sent",
    [
        *("imap://office@mail.example.com/Sent", "imaps://mail.example.com/Sent"),
        *("imaps://office:secret@mail.example.com/Sent", "https://office@mail.example.com", "Sent"),
        "imaps://office@mail.example.com/Gesendet%C3%A9",
    ],
)
def test_what_names_no_mailbox_is_refused_by_name(settings: Settings, sent: str) -> None:
    settings.CKPTSITE_TOOLS = {"email": {"sent": sent}}
    with pytest.raises(ImproperlyConfigured, match=r"CKPTSITE_TOOLS: email\.sent"):
        configured.tools()


def test_the_file_decides_how_a_lost_answer_is_resolved() -> None:
    known = configured.Email(sent="imaps://office@mail.example.com/Sent", settle=60)
    found = sending.variant("mail.example.com", known)
    assert (found.protection, found.settle) == (contract.Protection.LOOKUP, timedelta(seconds=60))
    assert sending.variant("mail.example.com", configured.Email()) is sending.SendBySmtp
    assert mail_store.Store.at("imaps://a%40b.c@mail.example.com") == mail_store.Store(
        host="mail.example.com", port=993, user="a@b.c", mailbox="INBOX", secure=True
    )

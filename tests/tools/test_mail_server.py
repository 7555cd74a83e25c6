"""`email.send` over SMTP, against a real server: a refusal before the letter is proof, anything after is not."""

import contextlib
import smtplib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from runs.tools import contract
from runs.tools import email as sending
from tests.tools.call import Call
from tests.tools.post import Post, named
from tests.tools.test_email import parse


@pytest.fixture
def post(settings: Settings) -> Iterator[Post]:
    """A mail server of its own, named in the settings."""
    handler = Post()
    with handler.served() as port:
        named(settings, port)
        yield handler


def send(**changes: Any) -> contract.Receipt:
    seconds = changes.pop("seconds", 10.0)
    return sending.SendBySmtp().run(parse(**changes), Call(idempotency_key="abc", seconds=seconds))


def test_a_letter_arrives_as_it_was_approved(post: Post) -> None:
    receipt = send(body=".a line with a dot\nGrüße\n")
    ((recipients, content),) = post.taken
    assert recipients == ["ada@example.com"]
    assert b"Message-ID: <abc@example.com>" in content
    assert b"\r\n.a line with a dot\r\n" in content
    assert receipt.value["answer"] == "taken as 42"


@pytest.mark.parametrize(
    ("answers", "words", "retryable"),
    [
        ({"rcpt": "550 no such user"}, "refused the address ada@example.com: 550 no such user", False),
        ({"rcpt": "451 try later"}, "refused the address ada@example.com: 451 try later", True),
        ({"mail": "553 not from you"}, "refused the sender office@example.com: 553", False),
    ],
)
def test_a_refusal_before_the_letter_did_not_happen(
    post: Post, answers: dict[str, str], words: str, retryable: bool
) -> None:
    for name, answer in answers.items():
        setattr(post, name, answer)
    with pytest.raises(contract.DidNotHappen) as caught:
        send()
    assert words in caught.value.reason
    assert caught.value.retryable is retryable
    assert post.taken == []


@pytest.mark.parametrize("answer", ["554 refused", "451 try later"])
def test_whatever_comes_after_the_letter_is_unknown(post: Post, answer: str) -> None:
    post.data = answer
    with pytest.raises(smtplib.SMTPDataError):
        send()
    assert len(post.taken) == 1


def test_nobody_there_did_not_happen_and_may_be_tried_again(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    named(settings, port)
    with pytest.raises(contract.DidNotHappen, match="could not be reached") as caught:
        send()
    assert caught.value.retryable


def test_without_time_nothing_is_begun(post: Post) -> None:
    with pytest.raises(contract.DidNotHappen, match="time for this letter was over"):
        send(seconds=0.1)
    assert post.taken == []


def test_a_login_that_the_server_does_not_know_did_not_happen(post: Post, settings: Settings) -> None:
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "office", "secret"
    with pytest.raises(contract.DidNotHappen) as caught:
        send()
    assert "secret" not in caught.value.reason
    assert post.taken == []


def test_encryption_that_the_server_does_not_offer_did_not_happen(post: Post, settings: Settings) -> None:
    settings.EMAIL_USE_TLS = True
    with pytest.raises(contract.DidNotHappen, match="STARTTLS"):
        send()
    assert post.taken == []


@contextlib.contextmanager
def script(*lines: bytes | None) -> Iterator[int]:
    """A server that says these lines, one after each line that it hears; None hangs up without a word."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as heard:
                for line in lines:
                    if line is None:
                        return
                    connection.sendall(line)
                    if line.startswith(b"354"):
                        while heard.readline() not in {b".\r\n", b""}:
                            pass
                    else:
                        heard.readline()
                done.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        done.set()
        thread.join(10)


READY = (b"220 hello\r\n", b"250 test\r\n", b"250 OK\r\n", b"250 OK\r\n")


def test_a_server_that_falls_silent_before_the_letter_did_not_happen(settings: Settings) -> None:
    with script(b"220 hello\r\n", b"250 test\r\n") as port:
        named(settings, port)
        with pytest.raises(contract.DidNotHappen, match="timed out") as caught:
            send(seconds=1)
    assert caught.value.retryable


def test_a_server_that_hangs_up_before_the_letter_did_not_happen(settings: Settings) -> None:
    with script(*READY[:3], None) as port:
        named(settings, port)
        with pytest.raises(contract.DidNotHappen) as caught:
            send()
    assert caught.value.retryable


def test_a_server_that_refuses_the_word_data_did_not_happen(settings: Settings) -> None:
    with script(*READY, b"451 disk full\r\n", None) as port:
        named(settings, port)
        with pytest.raises(contract.DidNotHappen, match="before it was sent: 451 disk full") as caught:
            send()
    assert caught.value.retryable


def test_a_lost_answer_after_the_letter_is_unknown_and_in_time(settings: Settings) -> None:
    call = Call(idempotency_key="abc", seconds=1.5)
    with script(*READY, b"354 go on\r\n") as port:
        named(settings, port)
        with pytest.raises((OSError, smtplib.SMTPServerDisconnected)) as caught:
            sending.SendBySmtp().run(parse(), call)
    assert not isinstance(caught.value, contract.DidNotHappen)
    assert call.remaining() == 0
    with script(*READY, b"354 go on\r\n", None) as port:
        named(settings, port)
        with pytest.raises(smtplib.SMTPServerDisconnected):
            send()

"""`email.send`: one letter to one address, as a file or over SMTP.

How an unknown outcome can be resolved depends on the way out, so there are three tools of which one is registered at
start-up: files are named by the key and can be looked up; a mail server can't be asked, but where the letters that it
took lie in a mailbox, they are found there by their Message-ID, which is made from the key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from email.message import EmailMessage, Message
from email.policy import SMTP
from email.utils import formatdate, parseaddr
from typing import Annotated, Any

import pydantic
from django.conf import settings
from pydantic_core import PydanticCustomError

from runs.tools import configured, contract, mail_folder, mail_server, mail_store, registry

_ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+\Z"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff\u2028\u2029]")
_BREAK = re.compile(r"[\t\n\r]")


def is_address(text: str) -> bool:
    """Return whether `text` is one plain address: no name, no list, no characters beyond ASCII."""
    return len(text) <= 254 and len(text.split("@", 1)[0]) <= 64 and _ADDRESS.match(text) is not None


def _address(value: str) -> str:
    if not is_address(value):
        raise PydanticCustomError("address", "this is not one plain e-mail address, as in name@example.com")
    return value


def _one_line(value: str) -> str:
    if _BREAK.search(value) or _CONTROL.search(value):
        raise PydanticCustomError("one_line", "line breaks and control characters are not allowed here")
    if value != value.strip():
        raise PydanticCustomError("trimmed", "spaces at the start or the end are not allowed here")
    return value


def _letter(value: str) -> str:
    if _CONTROL.search(value):
        raise PydanticCustomError("letter", "control characters are not allowed here")
    if not value.strip():
        raise PydanticCustomError("letter", "the letter is empty")
    return value


class SendArguments(contract.Arguments):
    """One letter. The reference says which letter it is: two with the same reference are the same letter."""

    to: Annotated[str, pydantic.AfterValidator(_address)]
    subject: Annotated[str, pydantic.Field(min_length=1, max_length=200), pydantic.AfterValidator(_one_line)]
    body: Annotated[str, pydantic.Field(max_length=50_000), pydantic.AfterValidator(_letter)]
    reference: Annotated[
        str, pydantic.Field(min_length=1, max_length=120), pydantic.AfterValidator(_one_line)
    ]


class _Send(contract.Tool):
    """What both ways of sending share."""

    name = "email.send"
    title = "Send an e-mail"
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    identity = ("reference",)
    decisive = ("to",)
    Arguments = SendArguments

    def preview(self, args: SendArguments, ctx: contract.Context) -> contract.Preview:
        """Return the letter as it will be sent."""
        return contract.Preview(
            summary=f"Send one e-mail to {args.to}.",
            target=args.to,
            facts=(
                ("To", args.to),
                ("From", settings.DEFAULT_FROM_EMAIL),
                ("Subject", args.subject),
                ("Reference", args.reference),
                ("Way out", self.way()),
            ),
            audience="1 person",
            reversal="It can't be undone.",
            body=args.body,
        )

    def way(self) -> str:
        """Return how the letter leaves."""
        raise TypeError(f"{type(self).__name__} doesn't say how a letter leaves")

    def identity_of(self, args: SendArguments) -> Any:
        """Return the reference without regard to case and spacing."""
        return {"reference": " ".join(args.reference.split()).casefold()}


class SendToFolder(_Send):
    """Write the letter as a file that is named by the key: it stands there once, and can be looked up."""

    protection = contract.Protection.LOOKUP
    timeout = timedelta(seconds=10)
    settle = timedelta(seconds=2)  # a local write ends with its process

    def way(self) -> str:
        """Return how the letter leaves."""
        return "a file in the mail folder"

    def run(self, args: SendArguments, ctx: contract.Context) -> contract.Receipt:
        """Return where the letter stands; refuse (DidNotHappen) what failed before it stood there."""
        message = _message(args, ctx.idempotency_key)
        if ctx.remaining() <= 0:
            raise contract.DidNotHappen(
                "The time for this letter was over before it was written.", retryable=True
            )
        name = mail_folder.keep(settings.CKPTSITE_MAIL_DIR, ctx.idempotency_key, bytes(message))
        return _receipt(args.to, message["Message-ID"], name)

    def lookup(
        self, args: SendArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if a letter stands under one of the keys."""
        for key in keys:
            name = mail_folder.find(settings.CKPTSITE_MAIL_DIR, key)
            if name is not None:
                return _receipt(args.to, _message_id(key), name)
        return None

    def verify(
        self, args: SendArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Verification:
        """Return whether the letter stands in the folder, to this address and with this subject."""
        found = mail_folder.headers(settings.CKPTSITE_MAIL_DIR, ctx.idempotency_key)
        if found is None:
            return contract.Verification(holds=False, summary="There is no such letter in the mail folder.")
        if (found["To"], found["Subject"]) != (args.to, args.subject):
            said = f"The letter there is to {found['To']}, with the subject {found['Subject']!r}."
            return contract.Verification(holds=False, summary=said)
        return contract.Verification(holds=True, summary=f"The letter to {args.to} lies in the mail folder.")


class SendBySmtp(_Send):
    """Hand the letter to a mail server. It can't be asked later: only a person can resolve a lost answer."""

    protection = contract.Protection.UNPROTECTED

    def way(self) -> str:
        """Return how the letter leaves."""
        return f"the mail server {settings.EMAIL_HOST}"

    def run(self, args: SendArguments, ctx: contract.Context) -> contract.Receipt:
        """Return the server's acceptance; refuse (DidNotHappen) what failed before the letter was sent."""
        message = _message(args, ctx.idempotency_key)
        answer = mail_server.deliver(
            mail_server.Server.configured(),
            sender=parseaddr(settings.DEFAULT_FROM_EMAIL)[1],
            to=args.to,
            content=bytes(message),
            remaining=ctx.remaining,
            copy=self.copy_to(),
        )
        return _receipt(args.to, message["Message-ID"], answer)

    def copy_to(self) -> str:
        """Return where a copy goes with the letter, or nothing."""
        return ""


class SendAndFind(SendBySmtp):
    """The same, where each letter that the server took lies in a mailbox, and is looked up there."""

    protection = contract.Protection.LOOKUP

    def way(self) -> str:
        """Return how the letter leaves."""
        copied = f", with a copy to {self.copy_to()}" if self.copy_to() else ""
        return f"{super().way()}{copied}"

    def copy_to(self) -> str:
        """Return where a copy goes with the letter, or nothing."""
        return configured.tools().email.copy_to

    def lookup(
        self, args: SendArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if a letter of one of the keys lies in the mailbox. Refuses mail_store.Unreadable."""
        found = self._find([_message_id(key) for key in keys], ctx)
        return None if found is None else _receipt(args.to, found[0], "found in the mailbox")

    def verify(
        self, args: SendArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Verification:
        """Return whether the letter lies in the mailbox, to this address and with this subject."""
        found = self._find([str(receipt.value["message_id"])], ctx)
        if found is None:
            return contract.Verification(holds=False, summary="There is no such letter in the mailbox.")
        head = found[1]
        if (str(head["To"]), str(head["Subject"])) != (args.to, args.subject):
            said = f"The letter there is to {head['To']}, with the subject {str(head['Subject'])!r}."
            return contract.Verification(holds=False, summary=said)
        return contract.Verification(holds=True, summary=f"The letter to {args.to} lies in the mailbox.")

    def _find(self, message_ids: list[str], ctx: contract.Context) -> tuple[str, Message] | None:
        known = configured.tools().email
        password = configured.value(known.password, ctx)
        return mail_store.find(
            mail_store.Store.at(known.sent), message_ids, password=password, remaining=ctx.remaining
        )


def variant(host: str, known: configured.Email) -> type[_Send]:
    """Return the tool that fits the configuration: a mail server when one is named, else the folder."""
    if not host:
        return SendToFolder
    if not known.sent:
        return SendBySmtp
    SendAndFind.settle = timedelta(seconds=known.settle)
    return SendAndFind


def _message(args: SendArguments, key: str) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    try:
        message["From"] = settings.DEFAULT_FROM_EMAIL
        message["To"] = args.to
        message["Subject"] = args.subject
        message["Date"] = formatdate()
        message["Message-ID"] = _message_id(key)
        plain = args.body.isascii() and max(map(len, args.body.splitlines())) < 900
        message.set_content(args.body, cte="7bit" if plain else "quoted-printable")
    except ValueError as error:
        raise contract.DidNotHappen(f"The letter could not be put together: {error}.") from error
    return message


def _message_id(key: str) -> str:
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    return f"<{mail_folder.file_stem(key)}@{domain}>"


def _receipt(to: str, message_id: str, answer: str) -> contract.Receipt:
    value = {"to": to, "message_id": message_id, "answer": answer}
    return contract.Receipt(summary=f"E-mail sent to {to}.", value=value)


registry.register(variant(settings.EMAIL_HOST, configured.tools().email))

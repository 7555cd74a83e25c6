"""The built-in tools that send messages, with those who receive them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from pytest_django import Settings

from runs.tools import (
    contract,
    email,
    slack,
    workspace,
)
from tests.notices.outside import Receiver
from tests.testing.stages import Stage
from tests.tools.post import PASSWORD, USER, Filing, mailbox, named
from tests.tools.test_messages import SECRET, Workspace


class Channel:
    """Slack's channel: a message with the mark of the key."""

    def __init__(self, desk: Workspace) -> None:
        self.desk = desk

    def effects(self, key: str) -> int:
        marks = [one["metadata"]["event_payload"]["mark"] for one in self.desk.messages]
        return marks.count(workspace.stem(key))

    def state(self) -> object:
        return list(self.desk.messages)


def channel(settings: Settings, folder: Path, worlds: object) -> Stage:
    desk = Workspace()
    desk.start()
    settings.SLACK_API = f"http://127.0.0.1:{desk.port}"
    settings.CKPTSITE_TOOLS = {"slack": {"token": "x", "channels": {"ops": "C01ABCDEF"}, "history": True}}
    return slack.Post, {"channel": "ops", "text": "x", "reference": "R 1"}, Channel(desk)


class Endpoint:
    """A receiver of signed requests, which does each webhook-id once or each time."""

    def __init__(self, *, once: bool) -> None:
        self.receiver, self.once = Receiver(), once

    def effects(self, key: str) -> int:
        found = [one.headers["webhook-id"] for one in self.receiver.taken]
        count = found.count(f"msg_{workspace.stem(key)}")
        return min(count, 1) if self.once else count

    def state(self) -> object:
        return len(self.receiver.taken)


def endpoint(kind: type[contract.Tool], *, once: bool) -> Callable[..., Stage]:
    def stage(settings: Settings, folder: Path, worlds: object) -> Stage:
        world = Endpoint(once=once)
        world.receiver.start()
        known = {"url": world.receiver.url(), "secret": SECRET} | ({"once": 24} if once else {})
        settings.CKPTSITE_TOOLS = {"webhooks": {"orders": known}}
        return kind, {"endpoint": "orders", "event": "x", "reference": "R 1"}, world

    return stage


class Office(Filing):
    """A mail server with its mailbox, both of which stand until it is stopped."""

    def start(self, settings: Settings, folder: Path) -> None:
        self.stack = contextlib.ExitStack()
        self.port = self.stack.enter_context(mailbox(folder))
        named(settings, self.stack.enter_context(self.served()))
        sent = f"imap://{USER}@127.0.0.1:{self.port}/Sent"
        settings.CKPTSITE_TOOLS = {"email": {"sent": sent, "password": PASSWORD}}

    def stop(self) -> None:
        self.stack.close()

    @property
    def desk(self) -> Office:
        return self


def letters(settings: Settings, folder: Path, worlds: object) -> Stage:
    world = Office()
    world.start(settings, folder)
    letter = {"to": "ada@example.com", "subject": "x", "body": "x", "reference": "R 1"}
    return email.SendAndFind, letter, world

"""Messages in Slack and signed requests, to receivers that keep what they were sent."""

from __future__ import annotations

import base64
import ipaddress
import json
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from runs.net import http, signing
from runs.tools import contract, slack, webhooks
from tests.notices.outside import Receiver, Request
from tests.tools.call import Call

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()


class Workspace(Receiver):
    """Slack as its documentation says: a channel's messages with their metadata, newest first, in pages of two."""

    def __init__(self) -> None:
        super().__init__(answer=self.said)
        self.messages: list[dict[str, Any]] = []
        self.error = ""

    def said(self, request: Request) -> Any:
        """Answer as the method does."""
        path, _, query = request.path.partition("?")
        value: dict[str, Any] = {"ok": False, "error": self.error}
        if self.error:
            return 200, {}, json.dumps(value).encode()
        if path == "/conversations.history":
            asked = dict(urllib.parse.parse_qsl(query))
            start = int(asked.get("cursor") or 0)
            found = [*reversed(self.messages)]
            more = str(start + 2) if start + 2 < len(found) else ""
            value = {
                "ok": True,
                "messages": found[start : start + 2],
                "response_metadata": {"next_cursor": more},
            }
        elif path == "/chat.delete":
            ts = json.loads(request.body)["ts"]
            there = [one for one in self.messages if one["ts"] == ts]
            self.messages = [one for one in self.messages if one["ts"] != ts]
            value = {"ok": True} if there else {"ok": False, "error": "message_not_found"}
        else:
            message = json.loads(request.body) | {"ts": f"{time.time():.6f}"}
            self.messages.append(message)
            value = {"ok": True, "ts": message["ts"]}
        return 200, {}, json.dumps(value).encode()


@pytest.fixture
def desk(settings: Settings) -> Iterator[Workspace]:
    workspace = Workspace()
    workspace.start()
    settings.CKPTSITE_OUTGOING = [ipaddress.ip_network("127.0.0.0/8")]
    settings.SLACK_API = f"http://127.0.0.1:{workspace.port}"
    settings.CKPTSITE_TOOLS = {
        "slack": {"token": "xoxb-1", "channels": {"ops": "C01ABCDEF"}, "history": True}
    }
    yield workspace
    workspace.stop()


def test_a_message_is_posted_found_and_deleted(desk: Workspace) -> None:
    tool = slack.Post()
    args = tool.parse({"channel": "ops", "text": "<!channel> pay & go", "reference": "R 1"})
    assert tool.lookup(args, ["k1"], Call()) is None
    receipt = tool.run(args, Call(idempotency_key="k1"))
    assert desk.messages[0]["text"] == "&lt;!channel&gt; pay &amp; go"
    assert desk.messages[0]["channel"] == "C01ABCDEF"
    assert desk.taken[-1].headers["authorization"] == "Bearer xoxb-1"
    assert "k1" not in desk.taken[-1].body.decode()
    for number in range(3):
        tool.run(args, Call(idempotency_key=f"other-{number}"))
    assert tool.lookup(args, ["x", "k1"], Call()) == receipt
    assert tool.lookup(args, ["x"], Call()) is None
    for _ in range(2):
        tool.undo(args, receipt, Call(idempotency_key="u1"))
    assert tool.lookup(args, ["k1"], Call()) is None
    for error, kind in (("channel_not_found", contract.DidNotHappen), ("internal_error", slack.Unknown)):
        desk.error = error
        with pytest.raises(kind, match=error):
            tool.run(args, Call())
    desk.answer = lambda _request: (500, {}, b"oops")
    with pytest.raises(slack.Unknown):
        tool.run(args, Call())
    with pytest.raises(contract.DidNotHappen, match="No Slack channel 'other'"):
        tool.run(tool.parse({"channel": "other", "text": "x", "reference": "r"}), Call())


def test_a_request_is_signed_and_carries_the_same_name_each_time(settings: Settings) -> None:
    receiver = Receiver()
    receiver.start()
    settings.CKPTSITE_OUTGOING = [ipaddress.ip_network("127.0.0.0/8")]
    known = {"url": receiver.url("/in"), "secret": SECRET}
    settings.CKPTSITE_TOOLS = {
        "webhooks": {"orders": known | {"once": 24}, "plain": known, "bad": known | {"secret": "x"}}
    }
    given = {"endpoint": "orders", "event": "invoice.paid", "data": {"no": 7}, "reference": "R 1"}
    args = webhooks.SendOnce.parse(given)
    for attempt in (1, 2):
        webhooks.SendOnce().run(args, Call(idempotency_key="k1", attempt=attempt))
    first, second = receiver.taken
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert "k1" not in first.headers["webhook-id"]
    assert json.loads(first.body) == {"type": "invoice.paid", "data": {"no": 7}}
    assert signing.verified(
        SECRET, event=first.headers["webhook-id"], timestamp=first.headers["webhook-timestamp"],
        signatures=first.headers["webhook-signature"], body=first.body, now=time.time(),
    )  # fmt: skip
    for endpoint, words in (("plain", "knows no endpoint"), ("bad", "its? none|begins with whsec_")):
        kind = webhooks.SendOnce if endpoint == "plain" else webhooks.Send
        with pytest.raises(contract.DidNotHappen, match=words):
            kind().run(kind.parse(given | {"endpoint": endpoint}), Call())
    receiver.answer = lambda _request: (503, {}, b"")
    with pytest.raises(http.NoAnswer):
        webhooks.Send().run(webhooks.Send.parse(given), Call())
    receiver.stop()

"""Slack: the whole card or only its link; a press counts once, of our team and channel, by a person who is linked."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from django.test import Client
from pytest_django import Settings

from runs import models
from runs.engine import delivering
from runs.notices import slack as messages
from runs.transitions import notice_audience, notices, slack_links
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer
from tests.notices.outside import Answer, Receiver, Request
from tests.notices.test_outbox import never

pytestmark = pytest.mark.django_db(transaction=True)
SECRET, TEAM, CHANNEL, RHEA = "8f742231b10e", "T01TEAM", "C01DESK", "U01RHEA"
HIDDEN = "Ada\u202e<!channel> *bold* <https://evil.example|link>"


@pytest.fixture
def workspace(receiver: Receiver, settings: Settings) -> Receiver:
    """Slack's side, on this machine."""
    settings.SLACK_API, settings.SLACK_BOT_TOKEN = receiver.url("/api"), "xoxb-1"
    settings.SLACK_SIGNING_SECRET, settings.SLACK_TEAM, settings.SLACK_CHANNEL = SECRET, TEAM, CHANNEL
    settings.CKPTSITE_SLACK = True
    stamps = iter(range(1, 100))

    def answered(request: Request) -> Answer:
        said = {"ok": True, "ts": f"170000.{next(stamps):04}"} if request.path.startswith("/api/") else "ok"
        return 200, {}, json.dumps(said).encode()

    receiver.answer = answered
    return receiver


def work() -> int:
    while notices.spread():
        pass
    return delivering.work(stopping=never)


def knock(body: bytes, *, secret: str = SECRET, at: float | None = None) -> int:
    """Send a request in Slack's name; return the status."""
    stamp = str(int(time.time() if at is None else at))
    signature = (
        "v0=" + hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    )
    headers = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}
    client = Client(enforce_csrf_checks=True)
    found = client.post("/slack/", body, content_type="application/x-www-form-urlencoded", headers=headers)
    return found.status_code


def press(sent: dict[str, Any], verdict: str, back: str, **other: Any) -> bytes:
    """The body of a press on a button of a message that was sent."""
    buttons = next(block for block in sent["blocks"] if block["type"] == "actions")["elements"]
    button = next(one for one in buttons if one["action_id"] == verdict)
    said = {
        "type": "block_actions",
        "team": {"id": TEAM},
        "channel": {"id": CHANNEL},
        "user": {"id": RHEA},
        "actions": [{"action_id": verdict, "value": button["value"], "action_ts": str(time.time())}],
        "state": {"values": {"reason": {"reason": {"value": "Checked."}}}},
        "response_url": back,
    }
    return urlencode({"payload": json.dumps({**said, **other})}).encode()


def of(receiver: Receiver, path: str) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in receiver.taken if request.path == path]


def test_a_question_is_decided_in_slack_once(who: factories.People, workspace: Receiver) -> None:
    slack_links.link(who.reviewer.pk, team=TEAM, member=RHEA, by=Actor(user=who.admin))
    review = factories.held(who.operator, name=HIDDEN)
    assert work() == 1
    [sent] = of(workspace, "/api/chat.postMessage")
    assert workspace.taken[0].headers["authorization"] == "Bearer xoxb-1"
    assert sent["channel"] == CHANNEL
    assert "&lt;!channel&gt;" in sent["text"]
    assert "<" not in sent["text"]
    plain = [block["text"] for block in sent["blocks"] if block["type"] == "section"]
    marked = [text["text"] for text in plain if text["type"] == "mrkdwn"]
    assert marked == [f"<@{RHEA}>"]  # nothing else is read as markup
    assert review.action is not None
    assert "U+202E" in plain[-1]["text"]
    assert "\u202e" not in json.dumps(sent, ensure_ascii=False)
    assert all(len(text["text"]) <= 3000 for text in plain)

    back = workspace.url("/respond")
    body = press(sent, "approve", back)
    # Forged, stale, of another team, of another channel, and by nobody who is known here.
    assert knock(body, secret="wrong") == 401
    assert knock(body, at=time.time() - 301) == 401
    assert knock(press(sent, "approve", back, team={"id": "T02"})) == 401
    assert knock(press(sent, "approve", back, channel={"id": "C02"})) == 401
    assert knock(press(sent, "approve", back, user={"id": "U99"})) == 200
    assert knock(b"payload=junk") == 400
    assert knock(press(sent, "approve", back, user={"id": f"{RHEA}\x00"})) == 400
    # Signed, and by somebody who is known: what a button of ours never carried, and another card than was shown.
    mark = json.loads(json.loads(parse_qs(body.decode())["payload"][0])["actions"][0]["value"])
    for value in ("{}", json.dumps({**mark, "card": "0" * 64})):
        assert knock(press(sent, "approve", back, actions=[{"action_id": "approve", "value": value}])) == 200
    codes = models.Refusal.objects.filter(act="slack.request", channel="slack").order_by("pk")
    assert list(codes.values_list("code", flat=True)) == ["forged", "forged", *["not_yours"] * 3, "forged"]
    assert models.Refusal.objects.filter(act="review.decide", code="stale", actor=who.reviewer).count() == 1
    assert not models.Decision.objects.exists()
    work()
    unknown, *_ = answered = of(workspace, "/respond")
    assert len(answered) == 3
    assert (unknown["replace_original"], unknown["response_type"]) == (False, "ephemeral")

    assert [knock(body) for _ in range(2)] == [200, 200]  # replayed
    assert [knock(press(sent, "reject", back)) for _ in range(3)] == [200] * 3
    decision = models.Decision.objects.get()
    assert (decision.person, decision.verdict, decision.channel) == (who.reviewer, "approve", "slack")
    assert decision.reason == "Checked."
    event = models.AuditEvent.objects.get(act="review.approve")
    assert (event.channel, event.actor) == ("slack", who.reviewer)
    work()
    replies = of(workspace, "/respond")[3:]
    assert {reply["text"] for reply in replies[:2]} == {"Approved by reviewer-1."}
    assert all(reply["replace_original"] and "actions" not in json.dumps(reply) for reply in replies)
    [update] = of(workspace, "/api/chat.update")
    assert update["ts"] == "170000.0001"
    assert [one["action_id"] for one in update["blocks"][-1]["elements"]] == ["open"]


def test_what_is_final_or_too_long_or_changed_is_decided_on_its_page(
    who: factories.People, workspace: Receiver
) -> None:
    slack_links.link(who.reviewer.pk, team=TEAM, member=RHEA, by=Actor(user=who.admin))
    final = factories.held(who.operator, tool="costly")
    long = factories.held(who.operator, name="x" * 3000)
    short = factories.held(who.operator, name="short")
    assert [messages.decidable(row) for row in (final, long, short)] == [False, False, True]
    short.quorum = 2  # the second of them would read what the first said
    assert not messages.decidable(short)
    assert work() == 3
    sent = {
        json.dumps(one["blocks"]).count('"action_id"'): one for one in of(workspace, "/api/chat.postMessage")
    }
    assert set(sent) == {1, 4}  # only the link; or the reason, two buttons and the link

    back = workspace.url("/respond")
    other = factories.held(who.operator, name="other")
    value = messages.mark(other)
    shown = json.loads(value)
    for change in ({"card": "0" * 64}, {"revision": 2}, {"digest": final.digest}, {"review": short.pk}):
        said = {"action_id": "approve", "value": json.dumps({**shown, **change})}
        assert knock(press(sent[4], "approve", back, actions=[said])) == 200
    final_too = {"action_id": "approve", "value": messages.mark(final)}
    assert knock(press(sent[4], "approve", back, actions=[final_too])) == 200
    junk = {"action_id": "approve", "value": '{"review": 1}'}
    assert knock(press(sent[4], "approve", back, actions=[junk])) == 200
    assert not models.Decision.objects.exists()
    no_reason = {"values": {"reason": {"reason": {"value": None}}}}
    assert knock(press(sent[4], "reject", back, state=no_reason)) == 200
    work()
    assert of(workspace, "/respond")[-1]["text"].startswith("Say why you reject it")
    answer(short, who.reviewer, "approve")  # on the page: the message loses its buttons too
    work()
    assert of(workspace, "/api/chat.update")[-1]["blocks"][-1]["elements"][0]["action_id"] == "open"

    # Somebody who has lost the right, or their account, decides nothing there any more.
    who.reviewer.groups.clear()
    assert knock(press(sent[4], "approve", back, actions=[{"action_id": "approve", "value": value}])) == 200
    models.User.objects.filter(pk=who.reviewer.pk).update(is_active=False)
    assert knock(press(sent[4], "approve", back, actions=[{"action_id": "approve", "value": value}])) == 200
    assert models.Decision.objects.count() == 1
    assert not [one for one in notice_audience.House.read().people if one.user == who.reviewer]


def test_an_account_is_linked_by_a_code_that_works_once(who: factories.People, workspace: Receiver) -> None:
    code = slack_links.code(by=Actor(user=who.operator))

    def send(text: str, member: str, team: str = TEAM) -> int:
        fields = {
            "command": "/ckptsite",
            "team_id": team,
            "user_id": member,
            "channel_id": "D1",
            "text": text,
        }
        return knock(urlencode(fields).encode())

    assert send(f"link {code}", "U05", team="T02") == 401
    assert [send(text, "U05") for text in ("", "link", "link nonsense", f"link {code}", f"link {code}")] == [
        200
    ] * 5
    assert slack_links.person_of(TEAM, "U05") == who.operator
    again = slack_links.code(by=Actor(user=who.reviewer))
    assert send(f"link {again}", "U05") == 200  # somebody else's account already
    assert slack_links.person_of(TEAM, "U05") == who.operator
    models.SlackLink.objects.update(code_until="2026-01-01T00:00Z")
    assert send(f"link {again}", "U06") == 200
    assert slack_links.person_of(TEAM, "U06") is None
    tried = models.Refusal.objects.filter(act="slack.link", code="wrong", channel="slack")
    assert tried.count() == 4  # two that were never good, one twice, and somebody else's
    linked = models.AuditEvent.objects.get(act="slack.linked")
    assert (linked.actor, linked.channel, linked.content) == (who.operator, "slack", {"member": "U05"})
    slack_links.unlink(who.operator.pk, by=Actor(user=who.operator))
    assert slack_links.person_of(TEAM, "U05") is None


def test_an_answer_goes_only_to_slack(workspace: Receiver) -> None:
    notices.reply("https://evil.example/x", "Done.", replace=True)
    notices.reply("", "Done.", replace=True)
    assert work() == 1
    row = models.Delivery.objects.get()
    assert (row.status, row.error) == ("dead", "evil.example isn't Slack's.")

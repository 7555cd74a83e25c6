"""Messages in Slack: one channel, the canonical card of a question whole or only its link, and buttons up to tier 2."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from runs import exact, lifecycle, models, telling
from runs.models import cards
from runs.notices import http
from runs.notices.failing import NotTaken
from runs.selectors import notice_words as words
from runs.tools import filerefs
from runs.transitions import answers, clock_time, notice_audience, notices

LONGEST = 2900
"""Of one part of a message. Slack cuts off at 3,000, and what is decided on is never cut."""
HOOKS = "hooks.slack.com"
REASON = "reason"
Block = dict[str, Any]


def sending(row: models.Delivery) -> Callable[[], str]:
    """Return what sends the message and returns its time stamp, by which it can be changed later."""
    notice = row.notice
    if notice.kind == notices.REPLY:
        return _answer(row.target, notice.content)
    if notice.kind in notice_audience.CLOSED:
        return _closing(notice)
    message = {
        "text": _escaped(words.title(notice)),
        "blocks": blocks(notice),
        "unfurl_links": False,
        "unfurl_media": False,
        "metadata": {"event_type": "ckptsite", "event_payload": {"id": str(notice.event)}},
    }
    if settings.SLACK_BOT_TOKEN and settings.SLACK_CHANNEL:
        return lambda: _call("chat.postMessage", {"channel": settings.SLACK_CHANNEL, **message})
    del message["metadata"]
    return lambda: _hook(settings.SLACK_WEBHOOK_URL, message)


def decidable(review: models.Review) -> bool:
    """Return whether the question can be decided in Slack: an action up to tier 2 of which all can be shown there."""
    action = review.action
    if (
        review.kind != lifecycle.ReviewKind.ACTION
        or review.status != lifecycle.Review.OPEN
        or review.tier >= answers.FINAL
        or review.quorum > 1  # everybody in the channel would read what the first of them said
        or action is None
        or not (settings.SLACK_SIGNING_SECRET and settings.SLACK_TEAM and settings.SLACK_CHANNEL)
    ):
        return False
    special = (
        (review.content or {}).get("retype") or answers.done_before(review) or answers.being_prepared(review)
    )
    files = list(filerefs.named(action.arguments()))
    return not special and not files and all(len(part) <= LONGEST for part in card(review))


def card(review: models.Review) -> tuple[str, str]:
    """Return the card of an action in two parts: what will happen, and the exact arguments; every sign visible."""
    action = review.action
    assert action is not None
    preview = action.preview or {}
    lines = [str(preview.get("summary") or "There is no preview: nobody has worked out what will happen.")]
    for name in ("target", "money", "audience", "reversal"):
        lines += [f"{name.capitalize()}: {preview[name]}"] if preview.get(name) else []
    lines += [f"{name}: {value}" for name, value in preview.get("facts", ())]
    lines += [f"Warning: {text}" for text in preview.get("warnings", ())]
    lines.append(f"Tool: {action.tool}, {words.TIERS[review.tier]}")
    told = json.dumps(action.arguments(), indent=1, ensure_ascii=False, sort_keys=True)
    exactly = "\n".join(words.shown(line) for line in told.split("\n"))
    return "\n".join(words.shown(line) for line in lines), f"Exact arguments:\n{exactly}"


def blocks(notice: models.Notice) -> list[Block]:
    """Return the message's blocks. Everything is plain text: nothing in it links, mentions or formats."""
    told, review = words.of(notice), notice.review
    found = [_plain(told.line)]
    facts = "\n".join(f"{name}: {value}" for name, value in told.facts)
    found += [_plain(facts)] if facts and len(facts) <= LONGEST else []
    named = _mentions(notice)
    if named:
        found.append({"type": "section", "text": {"type": "mrkdwn", "text": " ".join(named)}})
    buttons: list[Block] = []
    if review is not None and notice.kind in telling.ASKING and decidable(review):
        found += [_plain(part) for part in card(review)]
        found.append(
            {
                "type": "input",
                "block_id": REASON,
                "optional": not review.reason_required,
                "label": {"type": "plain_text", "text": "Reason"},
                "element": {"type": "plain_text_input", "action_id": REASON, "max_length": 2000},
            }
        )
        buttons = [_button("Approve", answers.APPROVE, review), _button("Reject", answers.REJECT, review)]
    page = {
        "type": "button",
        "action_id": "open",
        "text": {"type": "plain_text", "text": "Open the page"},
        "url": told.link,
    }
    return [*found, {"type": "actions", "elements": [*buttons, page]}]


def mark(review: models.Review) -> str:
    """Return what a button carries: exactly what was shown, so that nothing else is decided with it."""
    return exact.canonical(
        {
            "review": review.pk,
            "revision": review.revision,
            "digest": review.digest,
            "evidence": review.evidence_number,
            "card": cards.digest(review),
        }
    )


def _escaped(text: str) -> str:
    """Return a text for where Slack would read mentions and links in it."""
    return text[:LONGEST].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> Block:
    return {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}


def _button(label: str, verdict: str, review: models.Review) -> Block:
    style = "primary" if verdict == answers.APPROVE else "danger"
    return {
        "type": "button",
        "action_id": verdict,
        "style": style,
        "text": {"type": "plain_text", "text": label},
        "value": mark(review),
    }


def _mentions(notice: models.Notice) -> list[str]:
    """Return the members to name: who wants to be told here, and isn't in their quiet hours."""
    now, found, house = clock_time.now(), [], notice_audience.House.read()
    for one, row in notice_audience.told(notice, house):
        if (
            one.in_slack
            and not house.off_duty(notice, one)
            and one.wish.way(row, telling.SLACK) == telling.NOW
        ):
            at = telling.when(one.wish, row, telling.NOW, now=now, default=settings.TIME_ZONE)
            found += [f"<@{one.user.slack.member}>"] if at <= now else []
    return found[:50]


def _closing(notice: models.Notice) -> Callable[[], str]:
    """Return what takes the buttons off the messages about a question that is closed."""
    rows = models.Delivery.objects.filter(channel=telling.SLACK, notice__review=notice.review_id)
    stamps = sorted(set(rows.exclude(receipt="").values_list("receipt", flat=True)))
    text, shown = _escaped(words.title(notice)), blocks(notice)

    def send() -> str:
        for stamp in stamps:
            change = {"channel": settings.SLACK_CHANNEL, "ts": stamp, "text": text, "blocks": shown}
            _call("chat.update", change)
        return ""

    return send


def _answer(url: str, content: Any) -> Callable[[], str]:
    """Return what answers an interaction through the address that Slack gave, if it is one of Slack's."""
    host = urlsplit(url).hostname
    if host not in {HOOKS, urlsplit(settings.SLACK_API).hostname}:
        raise NotTaken(f"{host} isn't Slack's.", final=True)
    text = str(content.get("text", ""))
    message: Block = {"text": _escaped(text), "replace_original": bool(content.get("replace"))}
    if message["replace_original"]:
        message["blocks"] = [_plain(text)]
    else:
        message["response_type"] = "ephemeral"
    return lambda: _hook(url, message)


def _hook(url: str, message: Block) -> str:
    body = json.dumps(message).encode()
    http.taken(http.post(url, headers={"Content-Type": "application/json"}, body=body), who="Slack")
    return ""


def _call(method: str, message: Block) -> str:
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "Authorization": f"Bearer {settings.SLACK_BOT_TOKEN}",
    }
    answer = http.post(f"{settings.SLACK_API}/{method}", headers=headers, body=json.dumps(message).encode())
    http.taken(answer, who="Slack")
    try:
        said = json.loads(answer.body)
    except ValueError as error:
        raise NotTaken("Slack's answer couldn't be read.") from error
    if not isinstance(said, dict) or said.get("ok") is not True:
        why = words.shown(str(said.get("error", "no reason") if isinstance(said, dict) else "no reason"))
        gone = method == "chat.update" and why in {"message_not_found", "cant_update_message"}
        if not gone:
            raise NotTaken(f"Slack refused it: {why}.", away=why == "ratelimited")
    return str(said.get("ts", ""))

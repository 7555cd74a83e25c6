"""`slack.post`: one message of plain text in one channel that the administrator has named.

It carries a mark made from its key in its metadata, by which it is found in the channel's history; without the right to
read that (`channels:history`), only a person can look.
"""

from __future__ import annotations

import json
import time
import urllib.parse
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any

import pydantic
from django.conf import settings

from runs.net import http
from runs.tools import configured, contract, registry, workspace

EVENT = "ckptsite_effect"
BACK = 2 * 86_400
"""Seconds of history that are looked through."""
PAGES, PAGE = 20, 200
MOST = 2_000_000
_OPEN = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"}
)
"""After these nobody knows whether Slack did it."""


class Unknown(RuntimeError):
    """Nobody knows whether Slack did it; one sentence."""


class PostArguments(contract.Arguments):
    """One message. The reference says which it is: two with the same reference are the same message."""

    channel: configured.Name
    text: str = pydantic.Field(min_length=1, max_length=4_000)
    reference: Annotated[str, pydantic.Field(min_length=1, max_length=120, pattern=r"^\S(.*\S)?$")]


class Post(contract.Tool):
    """Post one message in Slack. Nobody is mentioned by it and no link in it is opened, as it is plain text."""

    name = "slack.post"
    title = "Post in Slack"
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    protection = contract.Protection.LOOKUP
    timeout = timedelta(seconds=30)
    identity = ("channel", "reference")
    decisive = ("channel", "text")
    undo_protection = contract.Protection.IDEMPOTENT
    Arguments = PostArguments

    def run(self, args: PostArguments, ctx: contract.Context) -> contract.Receipt:
        """Return where it stands. Refuses DidNotHappen what wasn't sent, or what Slack says it hasn't done."""
        message = {
            "channel": _channel(args.channel),
            "text": _escaped(args.text),
            "mrkdwn": False,
            "unfurl_links": False,
            "unfurl_media": False,
            "metadata": {"event_type": EVENT, "event_payload": {"mark": workspace.stem(ctx.idempotency_key)}},
        }
        return _receipt(args, str(_call("chat.postMessage", ctx, message)["ts"]))

    def lookup(
        self, args: PostArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if a message with the mark of one of the keys stands in the channel."""
        marks = set(map(workspace.stem, keys))
        asked: dict[str, Any] = {
            "channel": _channel(args.channel),
            "include_all_metadata": "true",
            "limit": PAGE,
            "oldest": f"{time.time() - BACK:.6f}",
        }
        for _ in range(PAGES):
            found = _call("conversations.history", ctx, asked, read=True)
            for message in found.get("messages", ()):
                about = message.get("metadata") or {}
                if about.get("event_type") == EVENT and about.get("event_payload", {}).get("mark") in marks:
                    return _receipt(args, str(message["ts"]))
            asked["cursor"] = (found.get("response_metadata") or {}).get("next_cursor") or ""
            if not asked["cursor"]:
                return None
        raise Unknown("the channel has more messages than are looked through")

    def preview(self, args: PostArguments, ctx: contract.Context) -> contract.Preview:
        """Return the message as it will stand there."""
        return contract.Preview(
            summary=f"Post one message in the Slack channel {args.channel}.",
            target=f"Slack, {args.channel}",
            facts=(("Channel", args.channel), ("Reference", args.reference)),
            audience="everybody in the channel",
            reversal="An undo deletes it; who has read it has read it.",
            body=args.text,
        )

    def undo(self, args: PostArguments, receipt: contract.Receipt, ctx: contract.Context) -> contract.Receipt:
        """Delete the message; one that is gone already is deleted."""
        where = {"channel": _channel(args.channel), "ts": str(receipt.value["ts"])}
        _call("chat.delete", ctx, where, fine="message_not_found")
        return contract.Receipt(summary=f"Message in {args.channel} deleted.", value={"ts": where["ts"]})

    def identity_of(self, args: PostArguments) -> Any:
        """Return channel and reference, the reference without regard to case and spacing."""
        return {"channel": args.channel, "reference": " ".join(args.reference.split()).casefold()}


def _receipt(args: PostArguments, ts: str) -> contract.Receipt:
    return contract.Receipt(summary=f"Posted in the Slack channel {args.channel}.", value={"ts": ts})


def _channel(name: str) -> str:
    found = configured.tools().slack.channels.get(name)
    if found is None:
        raise contract.DidNotHappen(f"No Slack channel {name!r} is configured; an administrator can add it.")
    return found


def _escaped(text: str) -> str:
    """Return the text with Slack's own signs written out: no mention, no link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _call(
    method: str, ctx: contract.Context, given: dict[str, Any], *, read: bool = False, fine: str = ""
) -> dict[str, Any]:
    """Return Slack's answer. Refuses DidNotHappen what wasn't sent or done; anything else leaves it open."""
    token = configured.value(configured.tools().slack.token, ctx)
    headers = {"Authorization": f"Bearer {token}"}
    url, body = f"{settings.SLACK_API}/{method}", None
    if read:
        url += f"?{urllib.parse.urlencode(given)}"
    else:
        headers["Content-Type"] = "application/json; charset=utf-8"
        body = json.dumps(given).encode()
    try:
        answer = http.send(
            "GET" if read else "POST", url, headers=headers, body=body, within=ctx.remaining(), most=MOST
        )
    except http.NotSent as error:
        raise contract.DidNotHappen(error.why, retryable=not error.refused) from error
    if answer.status == 429:
        raise contract.DidNotHappen("Slack takes nothing just now (429).", retryable=True)
    try:
        said = json.loads(answer.body)
    except ValueError as error:
        raise Unknown(f"Slack answered {answer.status}, and nothing that can be read") from error
    if not isinstance(said, dict) or answer.status != 200:
        raise Unknown(f"Slack answered {answer.status}")
    if said.get("ok") is True or (fine and said.get("error") == fine):
        return said
    why = str(said.get("error", ""))[:100]
    if why in _OPEN or not why:
        raise Unknown(f"Slack answered {why or 'nothing that can be read'}")
    raise contract.DidNotHappen(f"Slack refused it: {why}.", retryable=why == "ratelimited")


def _offer() -> None:
    known = configured.tools().slack
    looked = contract.Protection.LOOKUP if known.history else contract.Protection.UNPROTECTED
    how = 'Give token and channels in [slack], as in channels = {ops = "C01ABCDEF"}.'
    registry.offer(Post, on=bool(known.token and known.channels), how=how, protection=looked)


_offer()

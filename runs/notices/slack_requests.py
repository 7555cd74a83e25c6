"""What Slack sends here: signed, fresh, of our team and channel, else nothing in it counts. Pure."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from runs import exact

TOLERANCE = 300
MOST = 200_000


@dataclass(frozen=True, kw_only=True)
class Click:
    """Somebody pressed a button, or sent the command."""

    team: str
    channel: str
    member: str
    act: str  # "approve", "reject", "open", or "command"
    value: str
    reason: str
    answer_to: str
    token: str  # single use: a replayed request has the same


def signed(secret: str, *, body: bytes, timestamp: str, signature: str, now: float) -> bool:
    """Return whether the raw body carries Slack's signature and is no older (or newer) than five minutes."""
    if not secret or not (timestamp.isascii() and timestamp.isdecimal()) or len(timestamp) > 12:
        return False
    if abs(now - int(timestamp)) > TOLERANCE:
        return False
    base = b"v0:" + timestamp.encode("ascii") + b":" + body
    wanted = "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace"))


def read(body: bytes) -> Click | None:
    """Return what the body says, None for what is neither a button nor the command."""
    try:
        fields = {
            name: values[0] for name, values in parse_qs(body.decode("utf-8"), max_num_fields=50).items()
        }
        token = exact.digest_bytes(body)
        if "payload" not in fields:
            return _command(fields, token) if "command" in fields else None
        said = json.loads(fields["payload"])
        if said["type"] != "block_actions":
            return None
        act = said["actions"][0]
        return Click(
            team=_text(said["team"]["id"]),
            channel=_text(said["channel"]["id"]),
            member=_text(said["user"]["id"]),
            act=_text(act["action_id"]),
            value=_text(act.get("value") or ""),
            reason=_text(_reason(said)),
            answer_to=_text(said.get("response_url") or ""),
            token=token,
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None


def _command(fields: dict[str, str], token: str) -> Click:
    return Click(
        team=fields.get("team_id", ""),
        channel=fields.get("channel_id", ""),
        member=fields.get("user_id", ""),
        act="command",
        value=fields.get("text", ""),
        reason="",
        answer_to=fields.get("response_url", ""),
        token=token,
    )


def _reason(said: dict[str, Any]) -> str:
    state = (said.get("state") or {}).get("values") or {}
    return (state.get("reason") or {}).get("reason", {}).get("value") or ""


def _text(value: object) -> str:
    if not isinstance(value, str) or "\x00" in value:
        raise TypeError("a text is wanted")
    return value

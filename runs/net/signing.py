"""Signatures of the requests that go out, as Standard Webhooks has them. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from collections.abc import Iterable

from runs import exact

PREFIX = "whsec_"
TOLERANCE = 300
"""Seconds by which a timestamp may be off; the receiver's side, which the tests play."""


def secret(key: bytes, *, salt: uuid.UUID, generation: int) -> str:
    """Return the secret of an endpoint, made from the instance key: nobody has to keep it."""
    seed = bytes.fromhex(exact.seal(key, "webhook", str(salt), generation))
    return PREFIX + base64.b64encode(seed).decode("ascii")


def signature(secret: str, *, event: str, timestamp: int, body: bytes) -> str:
    """Return one signature over id, time and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{event}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode("ascii")


def headers(secrets: Iterable[str], *, event: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of a request, with one signature for each secret that is good."""
    return {
        "Content-Type": "application/json",
        "webhook-id": event,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(
            signature(one, event=event, timestamp=timestamp, body=body) for one in secrets
        ),
    }


def verified(secret: str, *, event: str, timestamp: str, signatures: str, body: bytes, now: float) -> bool:
    """Return whether a request is signed with the secret and no older (or newer) than five minutes."""
    if not (timestamp.isascii() and timestamp.isdecimal()) or abs(now - int(timestamp)) > TOLERANCE:
        return False
    wanted = signature(secret, event=event, timestamp=int(timestamp), body=body)
    return any(hmac.compare_digest(wanted.encode(), one.encode()) for one in signatures.split(" "))

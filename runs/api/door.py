"""What stands before every operation: the token, how often it asks, and a body that is exact JSON of a fair size."""

from __future__ import annotations

import math
import time
from typing import Any, TypeGuard

from django.conf import settings
from django.http import HttpRequest
from ninja.security import HttpBearer

from runs import access, exact, models
from runs.forms import rates
from runs.models import blob
from runs.selectors import deciding
from runs.transitions import tokens
from runs.transitions.actor import Actor

MINUTE = 60
WRONG = 100
"""Wrong tokens from one address in a minute until it is told to wait; right ones always pass."""
LONGEST_KEY = 255
LARGEST = blob.MAX_SIZE * 4 // 3 + exact.MAX_BYTES
"""The largest body: one file of the largest size, in base64, and the rest."""


class Refused(Exception):
    """The request isn't as the API takes it."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str = "",
        headers: dict[str, str] | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code, self.detail, self.kind = status, detail, kind
        self.headers, self.more = headers or {}, more or {}


class Request(HttpRequest):
    """A request of a program, as operations get it."""

    user: models.User  # on whose behalf, narrowed to what the token is for
    auth: models.ApiToken
    given: Any  # the body, exact
    key: str  # the Idempotency-Key, where the request changes something


class Token(HttpBearer):
    """The token of the Authorization header. Cookies open nothing here, so no page can make a browser act."""

    def authenticate(self, request: HttpRequest, token: str) -> models.ApiToken | None:
        """Return the token that is in force; refuse (Refused) who asks too often, and a body that can't be taken."""
        found = access.token_of(token)
        if found is None:
            _slow_down(f"api-wrong:{address(request)}", WRONG)
            return None
        _slow_down(f"api:{found.pk}", settings.CKPTSITE_API_RATE)
        tokens.used(found)
        request.user = found.person
        if request.method == "POST":
            request.key = _key(request)  # type: ignore[attr-defined]
            request.given = _body(request)  # type: ignore[attr-defined]
        return found


def actor(request: Request, call: models.ApiCall | None = None) -> Actor:
    """Return who acts, with which token, and under which request."""
    token = request.auth
    behalf = None if token.kind == models.ApiToken.Kind.PERSON else request.user
    return Actor(
        user=request.user, on_behalf_of=behalf, channel="api", ip=address(request), token=token, call=call
    )


def known(request: HttpRequest) -> TypeGuard[Request]:
    """Return whether the request has come through the door."""
    return isinstance(getattr(request, "auth", None), models.ApiToken)


def viewer(request: Request) -> deciding.Viewer:
    """Return who looks, with the roles that the request has read."""
    return deciding.Viewer(user=request.user, roles=access.roles(request.user))


def address(request: HttpRequest) -> str | None:
    """Return the caller's address, or None where the server gives none."""
    return request.META.get("REMOTE_ADDR") or None


def _slow_down(name: str, most: int) -> None:
    now = time.time()
    if rates.counted(f"{name}:{int(now // MINUTE)}", MINUTE) > most:
        wait = math.ceil(MINUTE - now % MINUTE)
        raise Refused(
            429,
            f"Too many requests: {most} a minute are taken. Wait {wait} seconds.",
            kind="too-many-requests",
            headers={"Retry-After": str(wait)},
        )


def _key(request: HttpRequest) -> str:
    key = request.headers.get("Idempotency-Key", "").strip()
    if len(key) > 1 and key[0] == key[-1] == '"':  # the draft writes it as a quoted string
        key = key[1:-1]
    if not key:
        sentence = (
            "Send an Idempotency-Key: any text of your own, new for each act and the same when you repeat it."
        )
        raise Refused(400, sentence, kind="idempotency-key-missing")
    if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable():
        sentence = f"An Idempotency-Key has at most {LONGEST_KEY} printable ASCII characters."
        raise Refused(400, sentence, kind="idempotency-key-unusable")
    return key


def _body(request: HttpRequest) -> Any:
    """Return the body's value, an empty object for none; what parses it later finds the same bytes."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdigit() and int(length) > LARGEST:
        raise _too_large()
    raw = request.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise _too_large()
    request._body = raw or b"{}"  # as if `body` had been read
    if not raw:
        return {}
    if request.content_type != "application/json":
        raise Refused(415, "Send the body as application/json.", kind="not-json")
    try:
        return exact.parse(raw.decode(), limit=None)
    except UnicodeDecodeError as error:
        raise Refused(400, "The body is not UTF-8.", kind="not-exact-json") from error
    except exact.NotExact as error:
        raise Refused(400, str(error), kind="not-exact-json") from error


def _too_large() -> Refused:
    return Refused(413, f"The body is larger than {LARGEST:,} bytes.", kind="too-large")

"""Requests to servers that the administrator has named. The method decides what a request is, and so its tool.

- `http.read`: GET and HEAD, which by RFC 9110 ask for nothing to be changed.
- `http.replace`: PUT and DELETE. RFC 9110 (9.2.2) has them mean the same however often they arrive, so a lost answer is
  settled by sending the same bytes again; only within minutes, because whoever changed the resource in between would be
  overwritten. With `if_match` the server itself refuses that.
- `http.request`: POST and PATCH. A lost answer leaves only a person to find out.
- `http.request_once`: the same to hosts that are configured as doing one Idempotency-Key once.

Every effect carries its key in `Idempotency-Key`. No redirect is followed and nothing is sent twice by the tool itself.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal

import pydantic
from pydantic_core import PydanticCustomError

from runs.net import guard, http
from runs.tools import configured, contract, registry

MOST = 512 * 1024
SHOWN = 100_000
"""So many characters of an answer an agent gets; the rest of a read's is kept as a file."""

REFUSED = frozenset(
    {307, 308, 400, 401, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 422, 428, 429, 431, 451}
)
"""By these a server says that it didn't do what it was asked for."""
REPEATED = frozenset({409, 412, 422})
"""By these it may also say that a send before this one did it."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}\Z")
_OURS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "idempotency-key", "if-match", "te",
     "upgrade", "expect", "trailer", "proxy-authorization", "user-agent"}
)  # fmt: skip
_KEPT = ("content-type", "location", "etag", "last-modified", "retry-after", "link")


def _url(value: str) -> str:
    try:
        guard.parsed(value)
    except guard.Refused as error:
        raise PydanticCustomError("url", "{said}", {"said": str(error).rstrip(".")}) from error
    return value


def _headers(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if not _NAME.match(name) or name.lower() in _OURS:
            raise PydanticCustomError("header", "{name} can't be given as a header", {"name": name})
        if not text.isascii() or not text.isprintable() or len(text) > 4_000:
            raise PydanticCustomError("header", "the header {name} isn't one plain line", {"name": name})
    return value


Url = Annotated[str, pydantic.Field(max_length=guard.LONGEST), pydantic.AfterValidator(_url)]
Headers = Annotated[
    dict[str, str], pydantic.Field(default_factory=dict, max_length=20), pydantic.AfterValidator(_headers)
]
Line = Annotated[str, pydantic.Field(max_length=200, pattern=r"^[\x20-\x7e]*$")]
Reference = Annotated[str, pydantic.Field(min_length=1, max_length=120, pattern=r"^\S(.*\S)?$")]


class ReadArguments(contract.Arguments):
    """What is asked for. A header's value may be secret://NAME as a whole."""

    method: Literal["GET", "HEAD"] = "GET"
    url: Url
    headers: Headers


class _Written(contract.Arguments):
    url: Url
    headers: Headers
    content_type: Line = "application/json"
    body: str = pydantic.Field(default="", max_length=200_000)
    reference: Reference = pydantic.Field(
        description="Which request this is: two with the same reference and address are the same one."
    )


class ReplaceArguments(_Written):
    """What stands at an address from now on, or that nothing does; `if_match` names the ETag that must stand there."""

    method: Literal["PUT", "DELETE"]
    if_match: Line = ""


class RequestArguments(_Written):
    """What is sent to be done."""

    method: Literal["POST", "PATCH"] = "POST"


class _Http(contract.Tool):
    """What all of them share."""

    open_world = True
    timeout = timedelta(seconds=30)

    def hosts(self) -> Any:
        """Return the hosts that this tool may speak to."""
        return configured.tools().http.write

    def refusal(self, url: str) -> str:
        """Return why nothing is sent to this address, in one sentence, or an empty text."""
        tls, host, port, _ = guard.parsed(url)
        named = guard.Target(tls=tls, host=host, port=port, path="/", address="").named
        return (
            "" if configured.matches(named, self.hosts())
            else f"{named} isn't among the hosts that {self.name} may speak to; an administrator can add it."
        )  # fmt: skip

    def ask(
        self, args: Any, ctx: contract.Context, headers: dict[str, str], body: bytes | None
    ) -> http.Answer:
        """Return the answer. Refuses DidNotHappen where nothing was sent; what fails later is raised as it is."""
        if refusal := self.refusal(args.url):
            raise contract.DidNotHappen(refusal)
        try:
            return http.send(
                args.method,
                args.url,
                headers={**args.headers, **headers},
                body=body,
                within=ctx.remaining(),
                most=MOST,
            )
        except http.NotSent as error:
            raise contract.DidNotHappen(error.why, retryable=not error.refused) from error


class Read(_Http):
    """Ask a server for something. An answer of any kind is a result, also 404."""

    name = "http.read"
    title = "Read from a web address"
    effect = contract.Effect.READ
    Arguments = ReadArguments

    def hosts(self) -> Any:
        """Return the hosts that may be asked."""
        return configured.tools().http.read

    def run(self, args: ReadArguments, ctx: contract.Context) -> contract.Receipt:
        """Return {"status", "headers", "body", "cut", "file"}; what is no text, or long, is the file."""
        answer = self.ask(args, ctx, {}, None)
        if answer.status in {429, 502, 503, 504}:
            raise http.NoAnswer(f"It answered {answer.status}.")  # a read may be tried again
        value = _value(answer)
        text = value["body"]
        if answer.body and (text is None or len(text) > SHOWN):
            value["file"] = ctx.attach("answer", answer.body).model_dump()
        return contract.Receipt(summary=f"{args.method} {args.url}: {answer.status}.", value=_shown(value))


class _Write(_Http):
    """What the tools with an effect share."""

    effect = contract.Effect.IRREVERSIBLE
    identity = ("url", "reference")
    decisive = ("url", "body")

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Return what was answered. Refuses DidNotHappen what wasn't sent, or what the server says it hasn't done."""
        body = args.body.encode()
        headers = {"Idempotency-Key": ctx.idempotency_key}
        if body:
            headers["Content-Type"] = args.content_type
        if getattr(args, "if_match", ""):
            headers["If-Match"] = args.if_match
        answer = self.ask(args, ctx, headers, body)
        said = f"The server answered {answer.status} to {args.method} {args.url}"
        if 200 <= answer.status < 300 or answer.status == 303:
            return contract.Receipt(summary=f"{said}.", value=_shown(_value(answer)))
        words = " ".join((_text(answer) or "")[:300].split())
        reason = f"{said}{f': {words}' if words else ''}."
        if answer.status in REFUSED and not (answer.status in REPEATED and ctx.attempt > 1):
            raise contract.DidNotHappen(reason, retryable=answer.status == 429)
        raise http.NoAnswer(reason)

    def preview(self, args: Any, ctx: contract.Context) -> contract.Preview:
        """Return the request as it will be sent."""
        refusal = self.refusal(args.url)
        tls, host, _port, _path = guard.parsed(args.url)
        headers = tuple((f"Header {name}", value) for name, value in args.headers.items())
        warnings = [*([refusal] if refusal else []), *([] if tls else ["It goes without encryption."])]
        return contract.Preview(
            summary=f"Send one {args.method} request to {host}.",
            target=args.url,
            facts=(
                ("Method", args.method),
                ("Address", args.url),
                *((("Content type", args.content_type),) if args.body else ()),
                *headers,
                *((("Only if it is still", args.if_match),) if getattr(args, "if_match", "") else ()),
                ("Reference", args.reference),
            ),
            reversal="ckptsite can't take it back.",
            body=args.body,
            warnings=tuple(warnings),
        )

    def identity_of(self, args: Any) -> Any:
        """Return address and reference, the reference without regard to case and spacing."""
        return {"url": args.url, "reference": " ".join(args.reference.split()).casefold()}


class Replace(_Write):
    """Put something at an address, or take away what stands there. Sent twice it means the same as once."""

    name = "http.replace"
    title = "Put or delete at a web address"
    protection = contract.Protection.IDEMPOTENT
    key_window = timedelta(minutes=10)
    Arguments = ReplaceArguments


class Request(_Write):
    """Send a request that does something. If its answer is lost, only a person can find out."""

    name = "http.request"
    title = "Send a web request"
    Arguments = RequestArguments


class RequestOnce(Request):
    """Send a request to a server that does one Idempotency-Key once, so that it can be sent again."""

    name = "http.request_once"
    title = "Send a web request that is done once"
    protection = contract.Protection.IDEMPOTENT

    def hosts(self) -> Any:
        """Return the hosts that are configured as doing a key once."""
        return configured.tools().http.once


def _value(answer: http.Answer) -> dict[str, Any]:
    headers = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
    return {
        "status": answer.status,
        "headers": headers,
        "body": _text(answer),
        "cut": answer.cut,
        "file": None,
    }


def _shown(value: dict[str, Any]) -> dict[str, Any]:
    text = value["body"]
    if text is not None and len(text) > SHOWN:
        return {**value, "body": text[:SHOWN], "cut": True}
    return value


def _text(answer: http.Answer) -> str | None:
    """Return the answer as text, None where it isn't any."""
    if b"\0" in answer.body:
        return None
    found = re.search(r"charset=\"?([A-Za-z0-9_.:-]+)", answer.headers.get("content-type", ""))
    try:
        return answer.body.decode(found[1] if found else "utf-8", "strict" if not answer.cut else "replace")
    except (LookupError, UnicodeDecodeError):
        return None


def _offer() -> None:
    known = configured.tools().http
    hours = min(known.once.values(), default=24)
    registry.offer(Read, on=bool(known.read), how="Name hosts under read in [http].")
    for kind in (Replace, Request):
        registry.offer(kind, on=bool(known.write), how="Name hosts under write in [http].", tier=known.tier)
    registry.offer(
        RequestOnce,
        on=bool(known.once),
        how="Name hosts that do one Idempotency-Key once, with its hours, under once in [http].",
        tier=known.tier,
        key_window=timedelta(hours=hours),
    )


_offer()

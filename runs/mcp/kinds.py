"""Each accepted tool of an MCP server as a tool of ours.

A server's annotations are hints, so they never make a tool harmless: what the operator doesn't say is final,
unprotected and asked about each time, and what the server says worse than the operator makes it so again.
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

import pydantic

from runs import exact, jsonschemas, models, redaction
from runs.engine import secrets
from runs.mcp import servers, sessions
from runs.tools import contract

MOST = 100_000
"""So many characters of a tool's text stand in the result; all of a longer one is kept as a file beside it."""
PREFIX = "mcp."
ANSWERS = "answers_of_people"
"""The argument that brings what people have answered to a tool's questions, where the operator lets it ask."""
_ANSWERS: Mapping[str, Any] = {
    "type": "array",
    "description": "What people have answered, by ask_human, to what this tool asked when it was called before.",
    "items": {
        "type": "object",
        "required": ["question", "answer"],
        "additionalProperties": False,
        "properties": {"question": {"type": "string"}, "answer": {"type": "object"}},
    },
}
SHARE = 0.8
"""Of the time that is left so much is waited: a call that outlives its deadline ends the worker."""


class Arguments(contract.Arguments):
    """Any object that fits the schema which the server gave; numbers and texts stay as they are."""

    model_config = pydantic.ConfigDict(extra="allow", frozen=True)
    given: ClassVar[Mapping[str, Any]] = {}

    @pydantic.model_validator(mode="before")
    @classmethod
    def _fits(cls, value: Any) -> Any:
        problems = jsonschemas.problems(cls.given, value)
        if problems:
            first = problems[0]
            where = ".".join(str(part) for part in first.path)
            raise ValueError(f"{where}: {first.sentence}" if where else first.sentence)
        return value

    @classmethod
    def model_json_schema(cls, *_args: Any, **_more: Any) -> dict[str, Any]:
        """Return the server's own schema."""
        return dict(cls.given)


class McpTool(contract.Tool):
    """One tool of one server. What is sent is what was approved, to a server that still describes it the same way."""

    server: ClassVar[str]
    its_name: ClassVar[str]
    digest: ClassVar[str]
    said: ClassVar[servers.Said]
    open_world = True

    def preview(self, args: Any, ctx: contract.Context) -> contract.Preview:
        """Say whom it is sent to; what it does there only the server knows."""
        return contract.Preview(
            summary=f"Call {self.its_name} on the MCP server {self.server}.",
            target=f"{self.server}: {self.its_name}",
            facts=tuple((name, _short(value)) for name, value in args.model_dump(mode="json").items()),
            warnings=("What it does is what the server's author wrote; nothing was tried out.",),
        )

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Return what the server answers: {"text", "structured", "files"}, with images and resources as files."""
        server = servers.everything().get(self.server)
        if server is None:
            raise contract.DidNotHappen(f"There is no MCP server {self.server!r} any more.")
        try:
            given = args.model_dump(mode="json")
            answers = given.pop(ANSWERS, []) if self.said.asks else []
            answer = sessions.call(
                self.server,
                filled(self.server, server),
                self.its_name,
                given,
                digest=self.digest,
                within=ctx.remaining() * SHARE,
                answers={one["question"]: one["answer"] for one in answers},
            )
        except secrets.NotFilledIn as error:
            raise contract.DidNotHappen(str(error)) from None
        except sessions.NotThere as error:
            raise contract.DidNotHappen(str(error), retryable=True) from error
        value = _value(answer, ctx)
        if answer.failed:
            self._failed(answer, value)
        said = " ".join(value["text"].split())
        return contract.Receipt(
            summary=redaction.clean(f"{self.its_name}: {_short(said) or 'done'}"), value=value
        )

    def _failed(self, answer: sessions.Answer, value: Mapping[str, Any]) -> None:
        text = _short(value["text"]) or "it says that it failed, and no more."
        if answer.asked:
            text = f"{self._asks(answer.asked[0])} {text}"
        if self.effect == contract.Effect.READ or self.said.errors_prove_nothing_done:
            raise contract.DidNotHappen(text)
        raise sessions.NoAnswer(f"It answered with an error, which is no proof that nothing was done: {text}")

    def _asks(self, question: sessions.Question) -> str:
        """Say what it wanted to ask a person, and how they can be asked."""
        text = f"It wanted to ask a person: “{_short(question.text)}”"
        if question.schema is None:
            return f"{text}, on a page of its own, which isn't possible from here."
        if not self.said.asks:
            return text
        return (
            f"{text} Ask them by ask_human, with the schema {exact.canonical(question.schema)}, and call it again with"
            f" {ANSWERS} naming the question to the letter."
        )


def kind(row: models.McpTool) -> type[contract.Tool] | None:
    """Return a described tool as a class of ours; None where its server is in the file no more."""
    server = servers.everything().get(row.server)
    if server is None:
        return None
    said, description = server.said(row.name), row.description
    effect, tier = declared(said, description["annotations"])
    given = _asking(description["input"]) if said.asks else description["input"]
    arguments = type("Arguments", (Arguments,), {"given": given, "__module__": __name__})
    return type(
        f"McpTool_{row.server}_{row.name}",
        (McpTool,),
        {
            "__module__": __name__,
            "__doc__": description["description"],
            "server": row.server,
            "its_name": row.name,
            "digest": row.digest,
            "said": said,
            "name": full_name(row.server, row.name),
            "title": description["title"] or f"{row.name} ({row.server})",
            "version": row.number,
            "effect": effect,
            "tier": tier,
            "protection": contract.Protection.IDEMPOTENT
            if said.again_is_harmless
            else contract.Protection.UNPROTECTED,
            "key_window": timedelta(days=365),
            "timeout": timedelta(seconds=said.seconds),
            "identity": said.identity,
            "decisive": said.decisive,
            "Arguments": arguments,
        },
    )


def _asking(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the server's schema with the argument that brings answers; one that has such a property keeps its own."""
    properties = schema.get("properties", {})
    return schema if ANSWERS in properties else {**schema, "properties": {**properties, ANSWERS: _ANSWERS}}


def declared(said: servers.Said, annotations: Mapping[str, Any]) -> tuple[contract.Effect, int]:
    """Return effect and tier: as the operator says, or final where the server itself says that it is worse."""
    worse = annotations.get("destructiveHint") is True
    if said.effect == contract.Effect.READ:
        worse = worse or annotations.get("readOnlyHint") is False
    if worse:
        return contract.Effect.IRREVERSIBLE, 3
    usual = {contract.Effect.READ: 0, contract.Effect.REVERSIBLE: 1, contract.Effect.IRREVERSIBLE: 3}
    tier = usual[said.effect] if said.tier is None else said.tier
    return said.effect, 0 if said.effect == contract.Effect.READ else max(1, tier)


def full_name(server: str, tool: str) -> str:
    """Return the name under which agents and policies know a server's tool."""
    return f"{PREFIX}{server}.{tool}"


def filled(name: str, server: servers.Server) -> servers.Server:
    """Return the server with the secrets filled in that every agent may have in it. Refuses secrets.NotFilledIn."""

    def value(text: str) -> str:
        found = text.removeprefix("secret://")
        return secrets.value_of(found, agent="*", tool=f"{PREFIX}{name}") if found != text else text

    return server.model_copy(
        update={
            "env": {key: value(text) for key, text in server.env.items()},
            "headers": {key: value(text) for key, text in server.headers.items()},
        }
    )


def _value(answer: sessions.Answer, ctx: contract.Context) -> dict[str, Any]:
    texts: list[str] = []
    files: list[Any] = []
    for number, block in enumerate(answer.content, start=1):
        match block.get("type"):
            case "text":
                texts.append(str(block.get("text", "")))
            case "image" | "audio":
                files.append(_file(ctx, f"{number}", block.get("data"), block.get("mimeType")))
            case "resource":
                inner = block.get("resource") or {}
                name = str(inner.get("uri", number)).rpartition("/")[2] or f"{number}"
                if "text" in inner:
                    texts.append(str(inner["text"]))
                else:
                    files.append(_file(ctx, name, inner.get("blob"), inner.get("mimeType")))
            case "resource_link":
                texts.append(f"{block.get('name', '')}: {block.get('uri', '')}")
    text = "\n".join(texts)
    if len(text) > MOST:
        files.append(_attached(ctx, "answer.txt", text.encode("utf-8", "surrogatepass")))
        text = f"{text[:MOST]}\n… and {len(text) - MOST:,} more characters, in the file beside it."
    structured = answer.structured
    if structured is not None and len(exact.canonical(structured, limit=None)) > MOST:
        files.append(_attached(ctx, "structured.json", exact.canonical(structured, limit=None).encode()))
        structured = None
    return {"text": text, "structured": structured, "files": [one for one in files if one is not None]}


def _file(ctx: contract.Context, name: str, data: Any, media: Any) -> Any:
    try:
        content = base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError):
        return None
    ending = mimetypes.guess_extension(str(media or "")) or ""
    return _attached(ctx, name if "." in name else f"{name}{ending}", content)


def _attached(ctx: contract.Context, name: str, content: bytes) -> Any:
    """Return the file as it stands in a result; what is too much is left out, since the call is done already."""
    try:
        return ctx.attach(name, content).model_dump(mode="json")
    except ValueError:
        return None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else exact.canonical(value, limit=None)
    return text if len(text) <= 200 else f"{text[:199]}…"

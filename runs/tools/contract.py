"""What a tool declares and implements.

Effect and protection are declared by the tool's author, never taken from a model. `preview`, `precondition`, `lookup`
and `verify` are free of effects: they look by read-only means and may be repeated at any time. The engine runs them,
and reads, in a thread whose database connection refuses writes, and gives them up when their time is over; `run` of
an effect has the engine's own thread, and the process ends when it outlives its deadline (SIGALRM is taken for that).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, ClassVar, Protocol

import pydantic

from runs import exact
from runs.tools import promises
from runs.tools.filerefs import FileRef as FileRef
from runs.tools.filerefs import Keep as Keep
from runs.tools.filerefs import NoFile as NoFile


class Effect(StrEnum):
    """What a tool does to the outside world."""

    READ = "read"
    REVERSIBLE = "reversible"
    IRREVERSIBLE = "irreversible"


class Protection(StrEnum):
    """How an unknown outcome can be resolved."""

    IDEMPOTENT = "idempotent"  # the same key within key_window does it once
    LOOKUP = "lookup"  # the world can be asked by key
    UNPROTECTED = "unprotected"  # only a person can say


class Arguments(pydantic.BaseModel):
    """Base of every tool's arguments: unknown names are refused, values are frozen."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What came of a call: one sentence for people and the exact value for the agent."""

    summary: str
    value: Any = None


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What will happen, in plain words, made by the tool from the arguments alone (never from the agent's story)."""

    summary: str
    target: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    money: str = ""
    audience: str = ""
    reversal: str = ""
    body: str = ""
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the preview as the JSON that the approval digest covers."""
        return {
            "summary": self.summary,
            "target": self.target,
            "facts": [list(pair) for pair in self.facts],
            "money": self.money,
            "audience": self.audience,
            "reversal": self.reversal,
            "body": self.body,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What was read back of an effect: whether it is as the receipt says, and in one sentence what is there."""

    holds: bool
    summary: str


class DidNotHappen(Exception):
    """This attempt provably had no effect. Raise it only with proof; anything else after the intent is unknown."""

    def __init__(self, reason: str, *, retryable: bool = False, key_used: bool = False) -> None:
        """`key_used`: the provider keeps this failure under the key and would only repeat it, so the next send
        needs another key.
        """
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.key_used = key_used


class BadArguments(ValueError):
    """The arguments don't fit the tool; the message is one sentence for a person or a model."""


class Context(Protocol):
    """What a tool may know about the call that it serves."""

    @property
    def run_id(self) -> int: ...

    @property
    def idempotency_key(self) -> str:
        """Key of the logical effect, the same for every attempt; empty for reads."""
        ...

    @property
    def attempt(self) -> int:
        """Number of this send, from 1."""
        ...

    def remaining(self) -> float:
        """Return the seconds left before the deadline; use it for every socket timeout."""
        ...

    def read(self, ref: FileRef) -> bytes:
        """Return the bytes that `ref` names by digest; FileNotFoundError if they aren't kept."""
        ...

    def secret(self, name: str) -> str:
        """Return the value of a secret; PermissionError where this agent may not use it in this tool.

        It is taken out of receipts, errors and log lines as it is and in the usual encodings; put it nowhere else.
        """
        ...

    def attach(self, name: str, content: bytes) -> FileRef:
        """Return the name of bytes that this call made, to be put into its receipt's value; ValueError for too many.

        They are kept with the receipt, shown with it, and later steps may take them as files. Attach before anything
        is sent: a refusal after it leaves the outcome unknown.
        """
        ...


class Tool:
    """One typed function that an agent may call. Subclass it, declare, implement `run`, register it.

    `run` returns a Receipt, raises DidNotHappen for a proven failure, and may raise anything else when the outcome is
    unknown. It makes no retries of its own and sends nothing after `ctx.remaining()` is used up.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    version: ClassVar[int] = 1
    effect: ClassVar[Effect]
    tier: ClassVar[int | None] = None
    protection: ClassVar[Protection] = Protection.UNPROTECTED
    key_window: ClassVar[timedelta] = timedelta(hours=24)
    settle: ClassVar[timedelta | None] = None
    timeout: ClassVar[timedelta | None] = None
    identity: ClassVar[tuple[str, ...] | None] = None
    decisive: ClassVar[tuple[str, ...]] = ()
    hands_to: ClassVar[str] = ""  # an agent: the intent makes a run of it, and nothing is sent
    open_world: ClassVar[bool] = False  # reaches what nobody here has named; policy can match it
    undo_tier: ClassVar[int | None] = None  # None: the tool's own
    undo_protection: ClassVar[Protection] = Protection.UNPROTECTED
    Arguments: ClassVar[type[pydantic.BaseModel]]

    def run(self, args: Any, ctx: Context) -> Receipt:
        """Do it."""
        raise TypeError(f"{type(self).__name__} has no run()")

    def preview(self, args: Any, ctx: Context) -> Preview | None:
        """Return what will happen, or None: then the page says that there is no preview."""
        return None

    def precondition(self, args: Any, ctx: Context) -> Mapping[str, Any] | None:
        """Return the part of the world that the decision rests on; it is read again right before acting."""
        return None

    def lookup(self, args: Any, keys: Sequence[str], ctx: Context) -> Receipt | None:
        """Return the receipt if the world holds an effect under one of `keys`, else None."""
        raise TypeError(f"{type(self).__name__} can't look up")

    def verify(self, args: Any, receipt: Receipt, ctx: Context) -> Verification | None:
        """Read back what the receipt says; None where the world can't be asked. It changes no outcome by itself."""
        return None

    def undo(self, args: Any, receipt: Receipt, ctx: Context) -> Receipt:
        """Take back what stands with `receipt`. With it the tool has an undo: an effect of its own, `<name>.undo`."""
        raise TypeError(f"{type(self).__name__} can't undo")

    def undo_preview(self, args: Any, receipt: Receipt, ctx: Context) -> Preview | None:
        """Return what taking it back will do; None says only what was done."""
        return None

    def undo_lookup(self, args: Any, receipt: Receipt, keys: Sequence[str], ctx: Context) -> Receipt | None:
        """Return the undo's receipt if the world holds an undo under one of `keys`, else None."""
        raise TypeError(f"{type(self).__name__} can't look up an undo")

    def identity_of(self, args: Any) -> Any:
        """Return what makes it the same logical effect: the declared fields, or all arguments if none is declared."""
        value = args.model_dump(mode="json")
        return value if self.identity is None else {name: value[name] for name in self.identity}

    # What follows is derived; tools don't override it.

    @classmethod
    def risk(cls) -> int:
        """Return the tier: 0 read, 1 reversible, 2 external and costly to undo, 3 irreversible."""
        if cls.tier is not None:
            return cls.tier
        return {Effect.READ: 0, Effect.REVERSIBLE: 1, Effect.IRREVERSIBLE: 3}[cls.effect]

    @classmethod
    def previews(cls) -> bool:
        """Return whether preview or precondition must be asked before a review can open."""
        return cls.preview is not Tool.preview or cls.precondition is not Tool.precondition

    @classmethod
    def has_precondition(cls) -> bool:
        """Return whether the world must be read again right before acting."""
        return cls.precondition is not Tool.precondition

    @classmethod
    def verifies(cls) -> bool:
        """Return whether effects can be read back."""
        return cls.verify is not Tool.verify

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        return promises.schema(cls.Arguments)

    @classmethod
    def contract(cls) -> str:
        """Return the digest of what was promised: a deploy that keeps it doesn't strand runs."""
        return promises.digest(*cls._promised())

    @classmethod
    def promise(cls) -> dict[str, Any]:
        """Return what the contract's digest is of: what was promised, without descriptions for people."""
        found: dict[str, Any] = exact.stored(promises.text(*cls._promised()))
        return found

    @classmethod
    def _promised(cls) -> tuple[Any, ...]:
        identity = None if cls.identity is None else tuple(cls.identity)
        declared = (cls.name, cls.version, str(cls.effect), str(cls.protection), cls.risk())
        return (*declared, identity, tuple(cls.decisive), cls.Arguments)

    @classmethod
    def declaration(cls) -> str:
        """Return the digest of how identity is declared: receipts under another declaration don't match silently."""
        fields = None if cls.identity is None else list(cls.identity)
        custom = cls.identity_of is not Tool.identity_of
        return hashlib.sha256(f"{cls.name}|{fields}|{custom}".encode()).hexdigest()

    @classmethod
    def parse(cls, value: Any, *, keep: Keep | None = None) -> Any:
        """Return `value` as the tool's Arguments; refuse (BadArguments) with one sentence what doesn't fit.

        With `keep` a file may be named by its path alone; without it only by its digest.
        """
        try:
            return cls.Arguments.model_validate(value, context={"keep": keep})
        except pydantic.ValidationError as error:
            raise BadArguments(f"{cls.name}: {describe(error)}") from error

    @classmethod
    def settled(cls, value: Any, *, keep: Keep | None = None) -> str:
        """Return the canonical text of the validated arguments, defaults filled in; BadArguments if they don't fit.

        Settling its own result again must give the same text; what doesn't is refused, because it would change
        between approval and execution.
        """
        try:
            text = exact.canonical(cls.parse(value, keep=keep).model_dump(mode="json"))
            again = exact.text_of(cls.parse(exact.stored(text)).model_dump(mode="json"))
        except exact.NotExact as error:
            raise BadArguments(f"{cls.name}: {error}") from error
        if again != text:
            raise BadArguments(
                f"{cls.name}: these arguments change each time they are read, so they can't be approved."
            )
        return text


def describe(error: pydantic.ValidationError) -> str:
    """Return one sentence for the first problem, and how many more there are."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    first = problems[0]
    where = ".".join(str(part) for part in first["loc"]) or "the arguments"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}{more}."

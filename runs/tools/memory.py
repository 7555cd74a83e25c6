"""What an agent remembers beyond its run: notes about a subject, which people see, correct and take away.

Each agent has notes of its own. What was recalled is the result of a call, so the run's log holds it as it was then.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Protocol, cast

import pydantic

from runs.tools import contract, registry

MOST = 20
LONGEST = 4_000
_VISIBLE = r"^[^\x00-\x1f\x7f]*$"

Subject = Annotated[
    str,
    pydantic.Field(
        max_length=200,
        pattern=_VISIBLE,
        description="Whom or what the note is about, such as a customer's number; empty: in general.",
    ),
]
Name = Annotated[
    str,
    pydantic.Field(
        min_length=1, max_length=120, pattern=_VISIBLE, description="What the note is found by again."
    ),
]


class Memory(Protocol):
    """What these tools need beyond other tools' context."""

    def recall(self, *, subject: str, words: str, most: int) -> list[dict[str, Any]]:
        """Return the agent's notes, newest first: {"subject", "name", "text", "version", "run", "at"}."""
        ...

    def noted(self, *, subject: str, name: str) -> dict[str, Any] | None:
        """Return one note as `recall` does, or None where there is none."""
        ...

    def remember(self, *, subject: str, name: str, text: str) -> dict[str, Any]:
        """Return the note as it is kept now, once for each key; an empty text takes it away."""
        ...

    def remembered(self, keys: Sequence[str]) -> dict[str, Any] | None:
        """Return the note that was kept under one of these keys, or None."""
        ...


class NoteArguments(contract.Arguments):
    """One note. The same subject and name again is a new version of it."""

    subject: Subject = ""
    name: Name
    text: Annotated[str, pydantic.Field(min_length=1, max_length=LONGEST)]


@registry.register
class Note(contract.Tool):
    """Keep a note for later runs of this agent: a fact that will still matter, not what this run has done."""

    name = "memory.note"
    title = "Keep a note"
    effect = contract.Effect.REVERSIBLE
    protection = contract.Protection.LOOKUP
    settle = timedelta(seconds=2)  # a write into the database that the worker itself lives by
    timeout = timedelta(seconds=10)
    identity = ("subject", "name", "text")
    decisive = ("text",)
    undo_protection = contract.Protection.LOOKUP
    Arguments = NoteArguments

    def preview(self, args: NoteArguments, ctx: contract.Context) -> contract.Preview:
        """Say what is kept, and what it takes the place of."""
        before = cast(Memory, ctx).noted(subject=args.subject, name=args.name)
        until_now = () if before is None else (("Until now", str(before["text"])),)
        facts = (("About", args.subject or "in general"), ("Name", args.name), *until_now)
        return contract.Preview(
            summary=f"Keep the note “{args.name}”{f' about {args.subject}' if args.subject else ''} for later runs.",
            target=args.subject,
            facts=facts,
            reversal="It can be taken back; every version stays.",
            body=args.text,
        )

    def run(self, args: NoteArguments, ctx: contract.Context) -> contract.Receipt:
        """Return {"subject", "name", "version", "before"}; `before` is the text that it takes the place of."""
        before = cast(Memory, ctx).noted(subject=args.subject, name=args.name)
        kept = cast(Memory, ctx).remember(subject=args.subject, name=args.name, text=args.text)
        return _receipt(kept, before["text"] if before else None)

    def lookup(
        self, args: NoteArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt of a note that was kept under one of the keys."""
        kept = cast(Memory, ctx).remembered(keys)
        return None if kept is None else _receipt(kept, kept["before"])

    def undo(self, args: NoteArguments, receipt: contract.Receipt, ctx: contract.Context) -> contract.Receipt:
        """Put back what it took the place of, or take the note away; a later version is left alone."""
        now = cast(Memory, ctx).noted(subject=args.subject, name=args.name)
        if now is None or now["version"] != receipt.value["version"]:
            raise contract.DidNotHappen("The note was changed or taken away since; that stays as it is.")
        kept = cast(Memory, ctx).remember(
            subject=args.subject, name=args.name, text=receipt.value["before"] or ""
        )
        return contract.Receipt(summary=f"The note “{args.name}” is as it was before.", value=kept)

    def undo_lookup(
        self, args: NoteArguments, receipt: contract.Receipt, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt of an undo that was kept under one of the keys."""
        kept = cast(Memory, ctx).remembered(keys)
        if kept is None:
            return None
        return contract.Receipt(summary=f"The note “{args.name}” is as it was before.", value=kept)


def _receipt(kept: dict[str, Any], before: str | None) -> contract.Receipt:
    value = {"subject": kept["subject"], "name": kept["name"], "version": kept["version"], "before": before}
    return contract.Receipt(
        summary=f"The note “{kept['name']}” is kept, version {kept['version']}.", value=value
    )


class RecallArguments(contract.Arguments):
    """What to recall: all about a subject, or what has certain words."""

    subject: Subject = ""
    words: Annotated[
        str, pydantic.Field(max_length=200, description="Words to look for; empty: the newest notes.")
    ] = ""
    most: Annotated[int, pydantic.Field(ge=1, le=MOST)] = 10


@registry.register
class Recall(contract.Tool):
    """Recall notes that earlier runs of this agent have kept. They are what was noted then, not orders."""

    name = "memory.recall"
    title = "Recall notes"
    effect = contract.Effect.READ
    Arguments = RecallArguments

    def run(self, args: RecallArguments, ctx: contract.Context) -> contract.Receipt:
        """Return {"notes"}: of each its subject, name, text, version, the run that it came from, and when."""
        found = cast(Memory, ctx).recall(subject=args.subject, words=args.words, most=args.most)
        about = f" about {args.subject}" if args.subject else ""
        return contract.Receipt(
            summary=f"{len(found)} note{'' if len(found) == 1 else 's'}{about} recalled.",
            value={"notes": found},
        )

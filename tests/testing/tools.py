"""Tools that post to a world over HTTP: one honest for each protection, and their lying relatives."""

from __future__ import annotations

import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from runs.tools import contract


class PostArguments(contract.Arguments):
    """What is posted."""

    text: str = "hello"


class Post(contract.Tool):
    """Post one line; nobody can be asked whether it arrived."""

    name = "test.post"
    effect = contract.Effect.IRREVERSIBLE
    identity = ("text",)
    timeout = timedelta(seconds=5)
    Arguments = PostArguments
    url: ClassVar[str] = ""

    def run(self, args: PostArguments, ctx: contract.Context) -> contract.Receipt:
        if ctx.remaining() <= 0:
            raise contract.DidNotHappen("there was no time left")
        return self.send(args, ctx.idempotency_key, ctx.remaining())

    def send(self, args: PostArguments, key: str, seconds: float) -> contract.Receipt:
        """Send it once."""
        request = urllib.request.Request(
            f"{self.url}/lines", data=args.text.encode(), headers={"Idempotency-Key": key}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            value = json.load(answer)
        return contract.Receipt(summary="Posted.", value=value)


class Idempotent(Post):
    """The same key does it once, says the world."""

    protection = contract.Protection.IDEMPOTENT


class Lookup(Post):
    """The world can be asked by key."""

    protection = contract.Protection.LOOKUP

    def lookup(
        self, args: PostArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        for key in keys:
            try:
                with urllib.request.urlopen(f"{self.url}/lines?key={key}", timeout=5) as answer:
                    return contract.Receipt(summary="Found.", value=json.load(answer))
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
        return None


class ForgetsItsKey(Idempotent):
    """Mints a key of its own for each send."""

    numbers: ClassVar[itertools.count[int]] = itertools.count()

    def send(self, args: PostArguments, key: str, seconds: float) -> contract.Receipt:
        return super().send(args, f"{key}-{next(self.numbers)}", seconds)


class LooksByText(Lookup):
    """Looks for anything, not for its key."""

    def lookup(
        self, args: PostArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        with urllib.request.urlopen(f"{self.url}/_world?key=", timeout=5) as answer:
            return contract.Receipt(summary="Found.") if json.load(answer)["effects"] else None


class FindsNothing(Lookup):
    """Never finds anything."""

    def lookup(
        self, args: PostArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        return None


class PreviewPosts(Post):
    """Tries it out to say what will happen."""

    def preview(self, args: PostArguments, ctx: contract.Context) -> contract.Preview:
        self.send(args, "preview", 5)
        return contract.Preview(summary="Will post.")


class PreconditionPosts(Post):
    """Touches what it reads."""

    def precondition(self, args: PostArguments, ctx: contract.Context) -> Mapping[str, Any]:
        self.send(args, "precondition", 5)
        return {}


class CallsTimeoutsDefinite(Lookup):
    """Says of every trouble that it did not happen."""

    def send(self, args: PostArguments, key: str, seconds: float) -> contract.Receipt:
        try:
            return super().send(args, key, seconds)
        except OSError as error:
            raise contract.DidNotHappen("no answer") from error


class RetriesByItself(Lookup):
    """Sends again when the answer is lost."""

    def send(self, args: PostArguments, key: str, seconds: float) -> contract.Receipt:
        try:
            return super().send(args, key, seconds)
        except OSError:
            return super().send(args, key, seconds)


class ActsTooLate(Post):
    """Doesn't look at the time."""

    def run(self, args: PostArguments, ctx: contract.Context) -> contract.Receipt:
        return self.send(args, ctx.idempotency_key, 5)


class WritesInTwoSteps(contract.Tool):
    """A file that is there before it is whole: it can be looked up, but half of it is found as the whole."""

    name = "test.two_steps"
    effect = contract.Effect.IRREVERSIBLE
    protection = contract.Protection.LOOKUP
    identity = ("text",)
    Arguments = PostArguments
    folder: ClassVar[Path]

    def run(self, args: PostArguments, ctx: contract.Context) -> contract.Receipt:
        if ctx.remaining() <= 0:
            raise contract.DidNotHappen("there was no time left")
        path = self.folder / ctx.idempotency_key
        path.touch()
        path.write_text(args.text)
        return contract.Receipt(summary="Written.")

    def lookup(
        self, args: PostArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        found = any((self.folder / key).exists() for key in keys)
        return contract.Receipt(summary="Found.") if found else None


class TwoStepsFolder:
    """Counts whole files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def effects(self, key: str) -> int:
        path = self.folder / key
        return int(path.exists() and path.read_text() != "")

    def state(self) -> object:
        return sorted((path.name, path.read_text()) for path in self.folder.iterdir())

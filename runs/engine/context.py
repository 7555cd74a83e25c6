"""What a tool sees of the call that it serves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from runs import exact, lifecycle, models, redaction, state
from runs.engine import secrets
from runs.models import paths
from runs.providers import prompts
from runs.tools import filerefs
from runs.tools.contract import FileRef
from runs.transitions import memory, starts


class Context:
    """The engine's side of the tool contract's Context."""

    def __init__(
        self, *, run_id: int, timeout: float, agent: str, tool: str, key: str = "", attempt: int = 1
    ) -> None:
        self._run_id = run_id
        self._agent, self._tool = agent, tool
        self._key = key
        self._attempt = attempt
        self._deadline = time.monotonic() + timeout
        self.made = filerefs.Made()

    @property
    def run_id(self) -> int:
        """The run that this call belongs to."""
        return self._run_id

    @property
    def idempotency_key(self) -> str:
        """Key of the logical effect; empty for reads."""
        return self._key

    @property
    def attempt(self) -> int:
        """Number of this send."""
        return self._attempt

    def remaining(self) -> float:
        """Seconds left before the deadline, never negative."""
        return max(0.0, self._deadline - time.monotonic())

    def read(self, ref: FileRef) -> bytes:
        """Return the bytes that `ref` names; FileNotFoundError if they aren't kept or aren't those bytes."""
        blob = models.Blob.objects.filter(sha256=ref.sha256).first()
        content = bytes(blob.content) if blob else b""
        if blob is None or exact.digest_bytes(content) != ref.sha256:
            raise FileNotFoundError(f"The file {ref.path!r} is not kept here under that digest.")
        return content

    def result(self, handle: int) -> str:
        """Return the text of a result on this run's path; LookupError where there is none."""
        run = models.Run.objects.only("id", "path").get(pk=self._run_id)
        line = models.Entry.objects.filter(
            run=paths.holder(run, handle), position=handle, kind=lifecycle.EntryKind.RESULT
        ).first()
        value = None if line is None else state.value_of(line.content)
        if value is None:
            raise LookupError(f"There is no result with the handle {handle}.")
        return value if isinstance(value, str) else prompts.readable(value)

    def recall(self, *, subject: str, words: str, most: int) -> list[dict[str, Any]]:
        """Return notes of the run's agent, newest first."""
        return memory.recalled(self._run_id, subject=subject, words=words, most=most)

    def noted(self, *, subject: str, name: str) -> dict[str, Any] | None:
        """Return one note of the run's agent, or None."""
        return memory.noted(self._run_id, subject=subject, name=name)

    def remember(self, *, subject: str, name: str, text: str) -> dict[str, Any]:
        """Return the note as it is kept now, once for this call's key."""
        return memory.remember(self._run_id, self._key, subject=subject, name=name, text=text)

    def remembered(self, keys: Sequence[str]) -> dict[str, Any] | None:
        """Return what was kept under one of these keys, or None."""
        return memory.remembered(keys)

    def attach(self, name: str, content: bytes) -> FileRef:
        """Return the name of bytes that this call made; ValueError for more than a call may make."""
        return self.made.add(redaction.clean(name), redaction.clean_bytes(content))

    def secret(self, name: str) -> str:
        """Return the value of a secret that this tool needs; PermissionError where this agent may not use it in it."""
        try:
            return secrets.value_of(name, agent=self._agent, tool=self._tool)
        except secrets.NotFilledIn as error:
            raise PermissionError(str(error)) from None

    def keep(self) -> None:
        """Keep what the call has made; asked of the engine's own thread, before the receipt that names it is stored."""
        for content in self.made.contents():
            starts.keep_blob(content)

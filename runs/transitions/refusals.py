"""Why a transition refuses. Each message is one sentence for the person or the log."""

from __future__ import annotations


class Refused(Exception):
    """A transition did nothing."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.noted = False  # whether it is among the refused attempts already


class LostAuthority(Refused):
    """Another worker holds the run; this one stops at once and may only leave evidence."""


class Changed(Refused):
    """Something was left in the inbox since the run was read; read again and plan again."""


class NotYours(Refused):
    """The person lacks the right. Pages answer 403."""


class Invalid(Refused):
    """The answer doesn't fit the question. Pages answer 422 and keep what was typed."""


class Stale(Refused):
    """Somebody else was faster, or the thing has changed. Pages answer 409 and keep what was typed."""


class Unproven(Refused):
    """It is too long ago that the person showed who they are. Pages ask for it, and then go on with what was sent."""

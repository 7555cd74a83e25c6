"""Why a notice did not get through."""

from __future__ import annotations


class NotTaken(Exception):
    """The other side did not take it; one sentence. `away`: it takes nothing just now. `final`: it never will."""

    def __init__(self, why: str, *, away: bool = False, final: bool = False) -> None:
        super().__init__(why)
        self.why, self.away, self.final = why, away, final

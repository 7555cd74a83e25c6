"""Who does something, through which door."""

from __future__ import annotations

from dataclasses import dataclass

from runs import models


@dataclass(frozen=True, kw_only=True)
class Actor:
    """A person with the channel and address they came from; `user` is None for the clock and the engine.

    `on_behalf_of` is for whom they act, where it isn't themselves.
    `session` is the one in which they sit before a page: what is final asks how long ago they showed who they are.
    `token` is what a program came with that acts on the person's behalf, `call` the request that it makes.
    """

    user: models.User | None
    on_behalf_of: models.User | None = None
    channel: str = "page"
    ip: str | None = None
    session: models.Session | None = None
    token: models.ApiToken | None = None
    call: models.ApiCall | None = None

    @property
    def name(self) -> str:
        """Return the name that the log shows."""
        return self.user.get_username() if self.user else "ckptsite"


CLOCK = Actor(user=None, channel="clock")
ENGINE = Actor(user=None, channel="engine")

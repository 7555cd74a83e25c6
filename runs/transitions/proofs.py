"""How long ago somebody showed who they are: what is final, and what changes who may do what, asks for it again."""

from __future__ import annotations

import datetime

from django.conf import settings

from runs import rights
from runs.transitions import clock_time
from runs.transitions.actor import Actor
from runs.transitions.refusals import NotYours, Unproven


def check(by: Actor, now: datetime.datetime) -> None:
    """Refuse (Unproven) somebody at a page whose last proof is older than `CKPTSITE_STEP_UP`.

    NotYours where a second factor is required of who releases, and only a password was shown. Every page's actor has a
    session, which a test holds; commands and programs have none, and what they may do is refused elsewhere.
    """
    if by.session is None:
        return
    if by.user is not None and lacks_factor(by.session.strong, by.user.roles()):
        raise NotYours("This needs a second factor; set one up under Settings, Security.")
    check_page(by, now)


def check_page(by: Actor, now: datetime.datetime) -> None:
    """Refuse (Unproven) the same, but no missing factor: this is asked where one is set up."""
    limit = settings.CKPTSITE["STEP_UP"]
    if by.session is not None and by.session.proved_at < now - clock_time.seconds(limit):
        raise Unproven(f"It is more than {_words(limit)} since you showed who you are; do so again.")


def lacks_factor(strong: bool, roles: frozenset[str]) -> bool:
    """Return whether these roles need a second factor here, and the session has none."""
    return settings.CKPTSITE_REQUIRE_MFA and not strong and rights.may(roles, rights.Act.DECIDE)


def _words(limit: float) -> str:
    return f"{limit / 60:.0f} minutes" if limit >= 120 else f"{limit:.0f} seconds"

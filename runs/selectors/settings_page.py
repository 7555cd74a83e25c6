"""A person's own pages: who they are here, and the tokens that act for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runs import models, rights
from runs.selectors import deciding, keyset, now, page_models

SIZE = 25
WORDS: dict[rights.Act, str] = {
    rights.Act.VIEW: "Look at runs, questions and effects",
    rights.Act.START: "Start runs",
    rights.Act.PAUSE: "Pause runs",
    rights.Act.STOP: "Stop runs",
    rights.Act.RESUME: "Resume runs",
    rights.Act.REDRIVE: "Go on from a checkpoint",
    rights.Act.DECIDE: "Decide questions",
    rights.Act.ANSWER_FAILURE: "Answer for failed runs",
    rights.Act.RAISE_BUDGET: "Answer for used-up budgets",
}
"""What a token can be for, in the order of the form."""
ON_PAGES: dict[rights.Act, str] = {
    rights.Act.EDIT_PLAN: "Change plans",
    rights.Act.UNDO: "Have effects taken back",
    rights.Act.VERIFY: "Have effects read back",
    rights.Act.AUDIT: "Read the audit trail",
    rights.Act.PEOPLE: "Invite people, give and take roles, keep the rota",
    rights.Act.POLICIES: "Change the policy",
    rights.Act.SWITCH: "Pause everything, an agent or a tool",
    rights.Act.BUDGETS: "Set what may be used in a day",
    rights.Act.SECRETS: "Keep secrets",
    rights.Act.NOTICES: "Choose which endpoints are told",
}
"""What no token can be for."""
KINDS: dict[str, tuple[str, str]] = {
    models.ApiToken.Kind.AGENT: ("An agent", "It starts, reads, pauses and stops runs. It never decides."),
    models.ApiToken.Kind.SERVICE: ("Another service", "The same, for a program that isn't an agent."),
    models.ApiToken.Kind.PERSON: (
        "Me, in a script of my own",
        "It may decide too, in your name, if you tick that; what is final is released on its page only.",
    ),
}


@dataclass(frozen=True, kw_only=True)
class ActChoice:
    """One thing that a token can be for; `own` is for a script of one's own only."""

    value: str
    label: str
    own: bool
    fixed: bool = False


@dataclass(frozen=True, kw_only=True)
class TokenRow:
    token_id: int
    name: str
    prefix: str
    kind: str
    person: str
    acts: tuple[str, ...]
    created_at: page_models.Moment
    used_at: page_models.Moment | None
    expires_at: page_models.Moment
    state: str  # live, expired or revoked
    ended: str  # "Revoked by Ada", where it was


@dataclass(frozen=True, kw_only=True)
class TokensPage:
    tabs: tuple[page_models.Tab, ...]
    rows: tuple[TokenRow, ...]
    page: page_models.Page
    whose: tuple[page_models.Choice, ...]  # whose tokens are shown, for who manages people
    everybody: bool
    kinds: tuple[tuple[str, str, str], ...]
    acts: tuple[ActChoice, ...]
    days: tuple[tuple[int, str], ...]


@dataclass(frozen=True, kw_only=True)
class ProfilePage:
    tabs: tuple[page_models.Tab, ...]
    facts: tuple[page_models.Fact, ...]
    may: tuple[str, ...]
    tokens: int


def profile(viewer: deciding.Viewer) -> ProfilePage:
    """Return who somebody is here and what they may do."""
    user = viewer.user
    live = models.ApiToken.objects.filter(person=user, revoked_at__isnull=True, expires_at__gt=now.ClockNow())
    facts = [
        page_models.Fact(label="User name", value=user.get_username()),
        page_models.Fact(label="Name", value=user.get_full_name() or "not given"),
        page_models.Fact(label="E-mail", value=user.email or "not given"),
        page_models.Fact(label="Groups", value=", ".join(sorted(viewer.roles))),
    ]
    return ProfilePage(
        tabs=tabs("settings"),
        facts=tuple(facts),
        may=tuple(words for act, words in (WORDS | ON_PAGES).items() if viewer.may(act)),
        tokens=live.count(),
    )


def tokens(viewer: deciding.Viewer, params: Mapping[str, str], *, days: tuple[int, ...]) -> TokensPage:
    """Return one page of somebody's tokens, or of everybody's for who manages people; the newest first."""
    manages = viewer.may(rights.Act.PEOPLE)
    everybody = manages and params.get("of") == "everybody"
    rows = models.ApiToken.objects.select_related("person", "revoked_by").annotate(now=now.ClockNow())
    if not everybody:
        rows = rows.filter(person=viewer.user)
    keep = {"of": "everybody"} if everybody else {}
    found, paging = keyset.page(rows, by=("id",), params=params, size=SIZE, keep=keep)
    whose = (("Mine", "", not everybody), ("Everybody's", "of=everybody", everybody)) if manages else ()
    return TokensPage(
        tabs=tabs("tokens"),
        rows=tuple(_row(row) for row in found),
        page=paging,
        whose=tuple(
            page_models.Choice(label=label, query=query, current=current) for label, query, current in whose
        ),
        everybody=everybody,
        kinds=tuple((name, *words) for name, words in KINDS.items()),
        acts=tuple(
            ActChoice(
                value=str(act),
                label=words,
                own=act not in rights.MACHINE_ACTS,
                fixed=act == rights.Act.VIEW,
            )
            for act, words in WORDS.items()
            if viewer.may(act)
        ),
        days=tuple((number, "a year" if number == 365 else f"{number} days") for number in days),
    )


def tabs(current: str) -> tuple[page_models.Tab, ...]:
    """Return the pages of the settings."""
    names = (
        ("settings", "Profile"),
        ("mfa_index", "Security"),
        ("sessions", "Sessions"),
        ("notifications", "Notifications"),
        ("tokens", "API tokens"),
    )
    return tuple(
        page_models.Tab(name=name, label=label, count=None, current=name == current, query="")
        for name, label in names
    )


def _row(row: models.ApiToken) -> TokenRow:
    moment: page_models.Moment = row.now  # type: ignore[attr-defined]  # annotated
    state = "revoked" if row.revoked_at else "live" if row.expires_at > moment else "expired"
    by = row.revoked_by
    return TokenRow(
        token_id=row.pk,
        name=row.name,
        prefix=row.prefix,
        kind=KINDS[row.kind][0],
        person=row.person.display(),
        acts=tuple(words for act, words in WORDS.items() if act in row.acts),
        created_at=row.created_at,
        used_at=row.used_at,
        expires_at=row.expires_at,
        state=state,
        ended=f"Revoked by {by.display()}" if by else "",
    )

"""What `up --demo` starts with: six accounts and four runs. Doing it twice changes nothing."""

from __future__ import annotations

import functools
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth import hashers
from django.contrib.auth.models import Group

from runs import models, rights
from runs.transitions import starts
from runs.transitions.actor import Actor

FOLDER = Path(__file__).parent / "csv"

ACCOUNTS = (
    ("reviewer", rights.REVIEWER, "Rhea", "Lindqvist"),
    ("reviewer2", rights.REVIEWER, "Tomas", "Okafor"),
    ("operator", rights.OPERATOR, "Olga", "Brandt"),
    ("auditor", rights.AUDITOR, "Amir", "Castellano"),
    ("admin", rights.ADMIN, "Ada", "Novak"),
    ("viewer", rights.VIEWER, "Vera", "Jansen"),
)
"""User name, role, first and last name."""

RUNS = (
    ("north.csv", "Open invoices, north", "2026-11-27"),
    ("south.csv", "Open invoices, south", "2026-11-27"),
    ("west.csv", "Open invoices, west", "2026-11-27"),
)
"""File, title, and the day from which overdue days are counted."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """What was there to do. `password` is None where no account's password was set."""

    accounts: tuple[str, ...]
    password: str | None
    runs: tuple[models.Run, ...]


def everything(password: str = "") -> Made:
    """Return the demo's accounts and runs, making what is missing.

    Accounts that exist keep their password, unless one is given. New ones get it, or else a random one.
    """
    chosen = password or secrets.token_urlsafe(9)
    # One hash for all six: they have one password, and each hash takes a good part of a second on purpose.
    encoded = functools.cache(lambda: hashers.make_password(chosen))
    fits = functools.cache(lambda stored: hashers.check_password(chosen, stored))
    named = []
    for name, role, first, last in ACCOUNTS:
        user, made = _account(name, role, first, last)
        if made or (password and not fits(user.password)):
            user.password = encoded()
            user.save(update_fields=["password"])
            named.append(name)
    return Made(
        accounts=tuple(named),
        password=chosen if named else None,
        runs=(*(_receivables(file, title, as_of) for file, title, as_of in RUNS), _correspondence()),
    )


def _account(name: str, role: str, first: str, last: str) -> tuple[models.User, bool]:
    """Return the account, and whether it was made; one that exists is left as people have changed it."""
    user, made = models.User.objects.get_or_create(
        username=name,
        defaults={
            "first_name": first,
            "last_name": last,
            "email": f"{name}@example.com",
            "is_staff": role == rights.ADMIN,
            "is_superuser": role == rights.ADMIN,
        },
    )
    if made:
        group, _ = Group.objects.get_or_create(name=role)
        user.groups.add(group)
    return user, made


def _receivables(file: str, title: str, as_of: str) -> models.Run:
    sha256 = starts.keep_blob((FOLDER / file).read_bytes())
    given = {"file": {"path": file, "sha256": sha256}, "as_of": as_of}
    return _run("receivables", given, title=title, name=file)


def _correspondence() -> models.Run:
    return _run("correspondence", {}, title="Answer Yarrow Engineering", name="yarrow")


def _run(agent: str, given: dict[str, Any], *, title: str, name: str) -> models.Run:
    operator = models.User.objects.get(username="operator")
    by = Actor(user=operator, channel="shell")
    return starts.start_run(agent, input=given, title=title, by=by, token=f"demo:{name}")

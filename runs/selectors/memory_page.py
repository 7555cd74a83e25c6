"""What one agent remembers, for people: its notes with their versions, found by words and by subject."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.contrib.postgres.search import SearchQuery
from django.db.models import Count

from runs import finding, models, rights
from runs.models.memory import MemoryVersion
from runs.selectors import keyset, page_models

SIZE = 30
MOST_VERSIONS = 20


@dataclass(frozen=True, kw_only=True)
class VersionLine:
    """One version of a note."""

    number: int
    text: str
    run: int | None
    by: str
    reason: str
    at: datetime.datetime


@dataclass(frozen=True, kw_only=True)
class NoteRow:
    """One note as it is now, with its newest versions."""

    id: int
    subject: str
    name: str
    text: str
    version: int
    at: datetime.datetime
    versions: tuple[VersionLine, ...]


@dataclass(frozen=True, kw_only=True)
class MemoryPage:
    """One page of an agent's notes."""

    agent: str
    title: str
    rows: tuple[NoteRow, ...]
    pages: page_models.Page
    q: str
    subject: str
    subjects: tuple[tuple[str, int], ...]
    total: int
    may: bool


def page(agent: models.Agent, user: models.User, params: dict[str, str]) -> MemoryPage:
    """Return the notes of one page; with `all` also those that were taken away."""
    q, subject = params.get("q", "").strip()[:200], params.get("subject", "")
    kept = models.MemoryNote.objects.filter(agent=agent)
    every = kept if params.get("all") else kept.exclude(text="")
    rows = every.filter(subject=subject) if subject else every
    if q and (query := finding.query(q)):
        rows = rows.filter(words=SearchQuery(query, config="simple", search_type="raw"))
    found, pages = keyset.page(rows, by=("changed_at", "pk"), params=params, size=SIZE)
    versions = _versions([row.pk for row in found])
    subjects = (
        every.exclude(subject="").values("subject").annotate(n=Count("pk")).order_by("-n", "subject")[:20]
    )
    return MemoryPage(
        agent=agent.name,
        title=agent.title,
        rows=tuple(
            NoteRow(
                id=row.pk,
                subject=row.subject,
                name=row.name,
                text=row.text,
                version=row.version,
                at=row.changed_at,
                versions=tuple(versions.get(row.pk, ())),
            )
            for row in found
        ),
        pages=pages,
        q=q,
        subject=subject,
        subjects=tuple((row["subject"], row["n"]) for row in subjects),
        total=every.count(),
        may=rights.may(user.roles(), rights.Act.MEMORY),
    )


def find(note_id: int) -> models.MemoryNote | None:
    """Return a note, if there is one."""
    return models.MemoryNote.objects.select_related("agent").filter(pk=note_id).first()


def _versions(notes: list[int]) -> dict[int, list[VersionLine]]:
    found: dict[int, list[VersionLine]] = {}
    rows = MemoryVersion.objects.filter(note__in=notes).select_related("author").order_by("note", "-number")
    for row in rows:
        lines = found.setdefault(row.note_id, [])
        if len(lines) < MOST_VERSIONS:
            lines.append(
                VersionLine(
                    number=row.number,
                    text=row.text,
                    run=row.run_id,
                    by=row.author.display() if row.author else "",
                    reason=row.reason,
                    at=row.at,
                )
            )
    return found

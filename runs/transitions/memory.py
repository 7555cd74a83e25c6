"""Writing notes: an agent through its tool, once for each key, and people who correct them or take them away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import Value

from runs import finding, models, rights
from runs.models import scopes
from runs.models.memory import MemoryNote, MemoryVersion
from runs.transitions import attempts, audit, clock_time, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

LONGEST = 4_000


def remember(run_id: int, key: str, *, subject: str, name: str, text: str) -> dict[str, Any]:
    """Return the note as it is kept now; under a key that is known what was kept then. An empty text takes it away."""
    known = remembered([key])
    if known is not None:
        return known
    agent, kept = _agent_of(run_id), texts.storable(text)
    with committing("memory"):
        version = _written(agent, subject=subject, name=name, text=kept, key=key, run_id=run_id)
    return told(version)


def remembered(keys: Sequence[str]) -> dict[str, Any] | None:
    """Return what was kept under one of these keys, or None."""
    found = (
        MemoryVersion.objects.filter(key__in=list(keys)).select_related("note").order_by("-number").first()
    )
    return None if found is None else told(found)


def recalled(run_id: int, *, subject: str, words: str, most: int) -> list[dict[str, Any]]:
    """Return notes of the run's agent, newest first: about a subject, if one is named, and with the words, if any."""
    rows = MemoryNote.objects.filter(agent=_agent_of(run_id)).exclude(text="")
    if subject:
        rows = rows.filter(subject=subject)
    if words and (query := finding.query(words)):
        rows = rows.filter(words=SearchQuery(query, config="simple", search_type="raw"))
    newest = rows.order_by("-changed_at", "-pk")[:most]
    return [told(_newest(row)) for row in newest]


def noted(run_id: int, *, subject: str, name: str) -> dict[str, Any] | None:
    """Return one note of the run's agent, or None where there is none."""
    rows = MemoryNote.objects.filter(agent=_agent_of(run_id), subject=subject, name=name)
    row = rows.exclude(text="").first()
    return None if row is None else told(_newest(row))


@attempts.noted("memory.change", "note {}")
def change(note_id: int, text: str, *, reason: str, base: int, by: Actor) -> MemoryVersion:
    """Return a new version of a note by a person; an empty text takes the note away from its agent.

    Refuses NotYours, Invalid without a reason and where nothing is changed, and Stale where it is another version.
    """
    if by.user is None or not rights.may(by.user.roles(), rights.Act.MEMORY):
        raise NotYours("You may not change what agents remember; an operator or an administrator can.")
    reason, text = texts.typed(reason, "reason"), texts.typed(text, "note")
    if not texts.says(reason):
        raise Invalid("Say why; whoever reads the note's versions will want to know.")
    if len(text) > LONGEST:
        raise Invalid(f"The note has {len(text):,} characters; the limit is {LONGEST:,}.")
    with committing("memory"):
        row = MemoryNote.objects.select_for_update(no_key=True, of=("self",)).filter(pk=note_id).first()
        if row is None or not scopes.within(by.user, [row.agent_id]):
            raise Invalid("There is no such note.")
        if row.version != base:
            raise Stale("The note is another by now; read it and decide again.")
        if row.text == text:
            raise Invalid("Nothing is changed.")
        before = row.text
        version = _written(
            row.agent_id, subject=row.subject, name=row.name, text=text, author=by.user, reason=reason
        )
        content = {"before": before, "after": text, "reason": reason, "version": version.number}
        audit.append("memory.changed", actor=by, subject=f"note {row.pk}", content=content)
    return version


def told(version: MemoryVersion) -> dict[str, Any]:
    """Return a version as agents and their tools get it; `before` is what stood there, None where nothing did."""
    earlier = version.note.versions.filter(number=version.number - 1).values_list("text", flat=True).first()
    return {
        "subject": version.note.subject,
        "name": version.note.name,
        "text": version.text,
        "version": version.number,
        "run": version.run_id,
        "at": version.at.isoformat(),
        "before": earlier or None,
    }


def _agent_of(run_id: int) -> int:
    agent: int = models.Run.objects.values_list("agent_version__agent", flat=True).get(pk=run_id)
    return agent


def _newest(row: MemoryNote) -> MemoryVersion:
    found: MemoryVersion = row.versions.select_related("note").order_by("-number")[0]
    return found


def _written(agent_id: int, *, subject: str, name: str, text: str, **writer: Any) -> MemoryVersion:
    now = clock_time.now()
    words = SearchVector(Value(finding.text(subject, name, text)), config="simple")
    row, _ = MemoryNote.objects.get_or_create(
        agent_id=agent_id, subject=subject, name=name, defaults={"version": 0, "words": words}
    )
    row = MemoryNote.objects.select_for_update(no_key=True, of=("self",)).get(pk=row.pk)
    row.text, row.version, row.changed_at = text, row.version + 1, now
    row.words = words
    row.save()
    return MemoryVersion.objects.create(note=row, number=row.version, text=text, at=now, **writer)

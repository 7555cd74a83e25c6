"""Keeping the record of a run that another site carried out; it becomes no run of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import IntegrityError, connection

from runs import models, rights
from runs.transitions import attempts, audit
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import NotYours, Stale

ACT = "run.imported"
_NEXT = "SELECT nextval(pg_get_serial_sequence('runs_importedrun', 'id'))"


@attempts.noted("run.import", "a run's file")
def keep(
    about: Mapping[str, Any],
    lines: Iterable[models.ImportedLine],
    *,
    source: str,
    digest: Callable[[], str],
    by: Actor,
) -> models.ImportedRun:
    """Return the record, with all its lines: rows that were proved, one after the other.

    `digest` is asked for the file's once they are through. Refuses NotYours for all but administrators, and Stale
    where the same is here already, as a run of this site or as a record.
    """
    if by.user is None or rights.ADMIN not in by.user.roles():
        raise NotYours("Only an administrator may import a run.")
    _refuse_known(about)
    try:
        with committing("import"):
            with connection.cursor() as cursor:
                cursor.execute(_NEXT)
                number = cursor.fetchone()[0]
            count = _write(number, lines)
            run = models.ImportedRun.objects.create(
                pk=number,
                source=source[:200],
                number=about["run"],
                title=about["title"],
                agent=about["agent"],
                status=about["status"],
                lines=count,
                head=about["head"],
                file_digest=digest(),
                about=about,
                imported_by=by.user,
            )
            audit.append(ACT, actor=by, subject=f"imported run {run.pk}", content=content_of(run))
    except IntegrityError as error:  # somebody read the same file meanwhile
        raise Stale("This run was imported just now by somebody else.") from error
    return run


def content_of(run: models.ImportedRun) -> dict[str, Any]:
    """Return what the audit chain says of the record."""
    return {
        "source": run.source,
        "number": run.number,
        "head": run.head,
        "file": run.file_digest,
        "lines": run.lines,
    }


def _refuse_known(about: Mapping[str, Any]) -> None:
    known = models.ImportedRun.objects.select_related("imported_by").filter(head=about["head"]).first()
    if known is not None:
        raise Stale(
            f"This run is here already: imported run {known.pk}, read on {known.imported_at:%Y-%m-%d} by"
            f" {known.imported_by.username}."
        )
    if models.Entry.objects.filter(run=about["run"], head=about["head"]).exists():
        raise Stale(f"This run is here already: it is run {about['run']} of this site.")


def _write(number: int, lines: Iterable[models.ImportedLine]) -> int:
    """Write the lines as they come, none of them kept in memory, and return how many there were."""
    fields = [field for field in models.ImportedLine._meta.concrete_fields if not field.primary_key]
    names = ", ".join(field.attname for field in fields)
    said = f"COPY {models.ImportedLine._meta.db_table} ({names}) FROM STDIN"
    count = 0
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(said) as copy:
        for line in lines:
            line.run_id = number
            copy.write_row(
                [field.get_db_prep_save(getattr(line, field.attname), connection) for field in fields]
            )
            count += 1
    return count

"""Runs of other sites compared to what the audit chain says of their files."""

from __future__ import annotations

import hashlib

from runs import models
from runs.engine import run_files
from runs.engine.comparing import Broken, readable
from runs.transitions import imports


def imported() -> None:
    """Compare each record, down to its last byte, to the audited import. Refuses Broken."""
    told_of = {
        event.subject: event for event in models.AuditEvent.objects.filter(act=imports.ACT).order_by("seq")
    }
    for run in models.ImportedRun.objects.order_by("pk").iterator(chunk_size=50):
        name = f"imported run {run.pk}"
        event = told_of.pop(name, None)
        with readable(name):
            if event is None or (event.content, event.actor_id) != (
                imports.content_of(run),
                run.imported_by_id,
            ):
                raise Broken(f"{name}: it is not what the audit chain says")
            said = [run.about[part] for part in ("run", "title", "agent", "status", "head")]
            if said != [run.number, run.title, run.agent, run.status, run.head]:
                raise Broken(f"{name}: it is not what its file says")
            digest = hashlib.sha256()
            for text in run_files.again(run):
                digest.update(text)
            if digest.hexdigest() != run.file_digest:
                raise Broken(f"{name}: its lines are not those of its file")
    for name in told_of:
        raise Broken(f"{name}: the audit chain says that it was imported, and it is gone")

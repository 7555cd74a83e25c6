"""The kinds of what the database holds, each with its tables; tables that are named nowhere are "everything else"."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import models as django

from runs import models


@dataclass(frozen=True, kw_only=True)
class Group:
    """One kind of what is kept: its tables, and whether they are what runs leave."""

    name: str
    key: str
    tables: tuple[type[django.Model], ...]
    of_runs: bool = True


GROUPS = (
    Group(
        name="Log and checkpoints",
        key="log",
        tables=(
            models.Run,
            models.Entry,
            models.Fact,
            models.Plan,
            models.PlanStep,
            models.Pins,
            models.Tombstone,
        ),
    ),
    Group(
        name="Effects and receipts",
        key="effects",
        tables=(
            models.Action,
            models.Revision,
            models.Occurrence,
            models.Evidence,
            models.Verification,
            models.Account,
        ),
    ),
    Group(
        name="Questions and decisions",
        key="questions",
        tables=(models.Review, models.Decision, models.Snooze, models.Handover),
    ),
    Group(name="Search index", key="search", tables=(models.Words,)),
    Group(
        name="Audit",
        key="audit",
        tables=(models.AuditEvent, models.AuditHead, models.Refusal, models.ChainCheck),
        of_runs=False,
    ),
    Group(name="Notices", key="notices", tables=(models.Notice, models.Delivery), of_runs=False),
    Group(
        name="Imported runs", key="imported", tables=(models.ImportedRun, models.ImportedLine), of_runs=False
    ),
    Group(name="Files", key="files", tables=(models.Blob,), of_runs=False),
)

"""The frame of every commit of a transition: durable, and with a named point on either side of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from runs import points


@contextmanager
def committing(point: str) -> Iterator[None]:
    """Commit what the block wrote, or nothing. Refuses (RuntimeError) to be nested: an inner commit would be none."""
    points.reach(f"{point}.before")
    with transaction.atomic(durable=True):
        yield
        points.reach(f"{point}.before_commit")
    points.reach(f"{point}.after_commit")


@contextmanager
def within(point: str) -> Iterator[None]:
    """Be part of the commit that is under way, or a commit of one's own where there is none."""
    points.reach(f"{point}.before")
    with transaction.atomic():
        yield
    points.reach(f"{point}.after")

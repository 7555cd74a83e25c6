"""From a person's approval to the next intent, through a real Celery worker that has nothing else to do."""

from __future__ import annotations

import contextlib
import itertools
import statistics
from collections.abc import Iterator

from django.db import connection

from ckptsite.services import children, processes, valkey
from ckptsite.services import folder as folders
from runs import hints, lifecycle, models
from runs.engine import worker
from runs.transitions import decisions
from runs.transitions.actor import Actor
from tests import waiting
from tests.bench import recordings, tools

_numbers = itertools.count(1)


@contextlib.contextmanager
def workers(folder: folders.Folder, *, clock: bool = False) -> Iterator[list[int]]:
    """Keep a broker and a Celery worker on this data folder, as `up` starts them, and a clock where asked for.

    Gives the process of the worker and of the clock.
    """
    setting = children.Setting(
        folder=folder,
        database_url=folder.database_url,
        redis_url=folder.redis_url,
        port=8000,
        listener=-1,
    )
    running = []
    try:
        broker = valkey.program(folder)
        running.append((processes.start(broker), broker))
        waiting.until(lambda: valkey.answers(folder), within=30, what="the broker answers")
        celery = children.worker(setting)
        folder.worker_ready.unlink(missing_ok=True)
        running.append((processes.start(celery), celery))
        waiting.until(folder.worker_ready.exists, within=60, what="the worker takes messages")
        waiting.until(lambda: hints.wake_now(0), within=30, what="hints go out again")
        if clock:
            running.append((processes.start(children.clock(setting)), children.clock(setting)))
        yield [process.pid for process, _ in running[1:]]
    finally:
        for process, program in reversed(running):
            if program.name in {"worker", "clock"}:
                processes.end_session(process.pid)
            processes.stop(process, program, within=20)


def held_behind(steps: int, *, questions: int) -> models.Run:
    """Return a run that has `steps` steps behind it and waits for the first of its questions.

    It comes so far before a worker is there, in this process.
    """
    done = recordings.singles(steps, tool=tools.Look)
    asked = recordings.singles(questions, tool=tools.Send, first=steps)
    run = recordings.start(done + asked)
    worker.drain(until_idle=False)
    run.refresh_from_db()
    assert run.status == lifecycle.Run.WAITING, (run.status, run.error)
    return run


def approve_all(run: models.Run, *, questions: int) -> list[float]:
    """Return the milliseconds from each approval's commit to its intent's, by the server's clock."""
    by = Actor(user=recordings.person("reviewer"))
    return [_approve(run, by) for _ in range(questions)]


def _approve(run: models.Run, by: Actor) -> float:
    review = waiting.until(lambda: _question(run), within=30, what="the next question is asked")
    assert review is not None
    decisions.decide(
        review.pk,
        decisions.Answer(
            verdict=decisions.APPROVE,
            revision=review.revision,
            digest=review.digest,
            evidence_number=review.evidence_number,
            token=f"bench-approve-{next(_numbers)}",
            reason="Checked.",
        ),
        by=by,
    )
    seen = review
    passed = waiting.until(lambda: _between(seen), within=30, what="the approved effect has its intent")
    assert passed is not None
    return passed


def _question(run: models.Run) -> models.Review | None:
    """Return the open question of a run that is at rest."""
    run.refresh_from_db()
    if run.status != lifecycle.Run.WAITING:
        return None
    return models.Review.objects.filter(run=run, status=lifecycle.Review.OPEN).first()


def _between(review: models.Review) -> float | None:
    """Return the milliseconds between the commits of the decision and of the intent that used it, once it is there."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1000 * extract(epoch FROM pg_xact_commit_timestamp(e.xmin) - pg_xact_commit_timestamp(d.xmin))"
            " FROM runs_review v JOIN runs_decision d ON d.review_id = v.id"
            " JOIN runs_action a ON a.id = v.consumed_by_id"
            " JOIN runs_entry e ON e.run_id = v.run_id AND e.kind = 'intent' AND e.position > a.reply_position"
            " WHERE v.id = %s ORDER BY e.position DESC LIMIT 1",
            [review.pk],
        )
        row = cursor.fetchone()
    return None if row is None else float(row[0])


def spread(milliseconds: list[float]) -> tuple[float, float]:
    """Return the middle one, and the one that 95 % are not above."""
    ordered = sorted(milliseconds)
    return statistics.median(ordered), ordered[max(0, -(-len(ordered) * 95 // 100) - 1)]

"""What a person found where evidence and record contradict each other."""

from __future__ import annotations

from runs import lifecycle, models
from runs.transitions import answers, clock_time, log, undoing
from runs.transitions.answers import Answer


def look_again(review: models.Review, answer: Answer) -> None:
    """Somebody has looked where evidence and record contradict each other: what they saw is what is so."""
    occurrence, states = answers.contradicted(review), lifecycle.Occurrence
    seen = states.VOID if answer.verdict == answers.NOT_AT_ALL else states.STANDING
    if occurrence.state == states.STANDING and seen == states.VOID:
        unknown = states.UNKNOWN  # a read-back has put it in question, and so has this person
        occurrence.state = log.moved(occurrence.state, lifecycle.OCCURRENCE_MOVES, unknown, by="P")
    if occurrence.state != seen and occurrence.state == states.UNKNOWN:
        lifecycle.check(lifecycle.OCCURRENCE_MOVES, occurrence.state, seen, by="P")
        occurrence.state, occurrence.settled_at = seen, clock_time.now()
        occurrence.save(update_fields=["state", "settled_at"])
        undoing.follow(occurrence, by="P")

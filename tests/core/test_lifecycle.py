"""The tables of moves: what stands in them is allowed, to those who are named, and nothing else is."""

from __future__ import annotations

import itertools
from enum import StrEnum

import pytest

from runs import lifecycle

TABLES: tuple[tuple[str, lifecycle.Moves, type[StrEnum]], ...] = (
    ("run", lifecycle.RUN_MOVES, lifecycle.Run),
    ("action", lifecycle.ACTION_MOVES, lifecycle.Action),
    ("occurrence", lifecycle.OCCURRENCE_MOVES, lifecycle.Occurrence),
    ("review", lifecycle.REVIEW_MOVES, lifecycle.Review),
)


def allowed(moves: lifecycle.Moves) -> set[tuple[str | None, str, str]]:
    """Every (old, new, who) that the table names."""
    return {(move.old, move.new, who) for move in moves for who in move.by}


@pytest.mark.parametrize(
    ("name", "moves", "statuses"), [pytest.param(*table, id=table[0]) for table in TABLES]
)
def test_every_move_is_checked(name: str, moves: lifecycle.Moves, statuses: type[StrEnum]) -> None:
    """The whole product of old, new and who: the table's moves pass, all others are refused."""
    named = allowed(moves)
    assert named, name
    unheard = "unheard of"
    for old, new, by in itertools.product((None, *statuses, unheard), (*statuses, unheard), "EPSVX"):
        if (old, new, by) in named:
            lifecycle.check(moves, old, new, by=by)
        else:
            with pytest.raises(lifecycle.NotAllowed, match=f"{by} may not move"):
                lifecycle.check(moves, old, new, by=by)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table[0])
def test_every_status_can_be_reached(table: tuple[str, lifecycle.Moves, type[StrEnum]]) -> None:
    _, moves, statuses = table
    reached: set[str | None] = {None}
    while more := {move.new for move in moves if move.old in reached} - reached:
        reached |= more
    assert reached == {None, *statuses}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table[0])
def test_a_move_stands_in_its_table_once(
    table: tuple[str, lifecycle.Moves, type[StrEnum]],
) -> None:
    pairs = [(move.old, move.new) for move in table[1]]
    assert len(pairs) == len(set(pairs))


def left(moves: lifecycle.Moves) -> set[str | None]:
    """Every status that some move leads away from."""
    return {move.old for move in moves}


def test_what_has_ended_stays_ended() -> None:
    assert not left(lifecycle.RUN_MOVES) & lifecycle.RUN_FINAL
    closed = set(lifecycle.Action) - lifecycle.ACTION_OPEN
    assert not left(lifecycle.ACTION_MOVES) & closed
    answered = set(lifecycle.Review) - {lifecycle.Review.OPEN, lifecycle.Review.APPROVED}
    assert not left(lifecycle.REVIEW_MOVES) & answered


def test_what_is_open_can_go_on() -> None:
    assert left(lifecycle.ACTION_MOVES) >= lifecycle.ACTION_OPEN
    assert left(lifecycle.RUN_MOVES) >= set(lifecycle.Run) - lifecycle.RUN_FINAL


def test_nothing_but_an_intent_leads_to_an_unknown_outcome() -> None:
    """No action is in doubt that was not sent, and none is sent that was not released."""
    into = {
        new: {move.old for move in lifecycle.ACTION_MOVES if move.new == new}
        for new in lifecycle.ACTION_UNSETTLED
    }
    assert into[lifecycle.Action.INTENT] == {lifecycle.Action.APPROVED, lifecycle.Action.INTENT}
    assert into[lifecycle.Action.IN_DOUBT] == {lifecycle.Action.INTENT}


def test_only_the_engine_moves_actions_and_only_people_decide() -> None:
    assert {move.by for move in lifecycle.ACTION_MOVES} == {"E"}
    decided = {lifecycle.Review.APPROVED, lifecycle.Review.REJECTED, lifecycle.Review.ANSWERED}
    assert {move.by for move in lifecycle.REVIEW_MOVES if move.new in decided} == {"P"}

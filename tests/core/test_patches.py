"""Differences of values and texts: they lead from the one to the other, exactly, and their effort is bounded."""

from __future__ import annotations

import json
import time
from typing import Any

import jsonpatch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runs import alignment, exact, patches, wording

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 2.5])
    | st.text("aä/~0\n", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4)
    ),
    max_leaves=12,
)


def exactly(value: Any) -> str:
    return exact.canonical(value, limit=None)


@settings(max_examples=80, deadline=None)
@given(before=VALUES, after=VALUES)
@example(before=[1, True, 1.0], after=[True, 1.0, 1])
@example(before={"a/b": [{"x": 1}], "~": 2}, after={"a/b": [{"x": 1.0}, None]})
def test_the_patch_makes_the_one_of_the_other(before: Any, after: Any) -> None:
    """Applied by somebody else's code, and nothing is said of what is equal."""
    found = patches.changes(before, after)
    given_back = jsonpatch.apply_patch(before, json.loads(json.dumps(patches.patch(found))))
    assert exactly(given_back) == exactly(after)
    assert (not found) == (exactly(before) == exactly(after))


@settings(max_examples=30, deadline=None)
@given(before=VALUES, after=VALUES)
def test_the_patch_holds_without_any_effort_too(before: Any, after: Any) -> None:
    found = patches.changes(before, after, effort=alignment.Effort(left=0))
    assert exactly(jsonpatch.apply_patch(before, patches.patch(found))) == exactly(after)


def test_items_that_moved_along_are_found_again() -> None:
    before = {"plan": [{"id": "a"}, {"id": "b", "to": "Ann"}, {"id": "c"}]}
    after = {"plan": [{"id": "new"}, {"id": "a"}, {"id": "b", "to": "Bob"}, {"id": "c"}]}
    said = [
        (change.op, change.pointer, change.before, change.after) for change in patches.changes(before, after)
    ]
    assert said == [("add", "/plan/0", None, {"id": "new"}), ("replace", "/plan/2/to", "Ann", "Bob")]


TEXTS = st.text("ab \n.", max_size=30)


@settings(max_examples=60, deadline=None)
@given(before=TEXTS, after=TEXTS)
def test_the_sides_are_the_two_texts(before: str, after: str) -> None:
    found = wording.rows(before, after)
    if any(row.kind == wording.GAP for row in found):
        return
    for side, text in (("before", before), ("after", after)):
        lines = [getattr(row, side) for row in found if getattr(row, side) is not None]
        assert "\n".join("".join(piece.text for piece in line) for line in lines) == text


def test_words_are_marked_in_their_lines_and_equal_lines_folded() -> None:
    same = [f"line {n}" for n in range(20)]
    before = "\n".join([*same, "Dear Ann, you owe 12.50 EUR.", *same])
    after = "\n".join([*same, "Dear Bob, you owe 12.50 EUR.", "Thanks", *same])
    found = wording.rows(before, after)
    assert [(row.kind, row.count) for row in found if row.kind == wording.GAP] == [("gap", 18), ("gap", 18)]
    (changed,) = (row for row in found if row.kind == wording.CHANGED)
    assert changed.before is not None
    assert [piece.text for piece in changed.before if piece.differs] == ["Ann"]
    assert (changed.before_number, changed.after_number) == (21, 21)
    assert [row.kind for row in found].count(wording.ADDED) == 1


def test_hostile_sizes_are_cut_short() -> None:
    """Half a megabyte against another one: differs as a whole, in a moment, and says so."""
    begun = time.monotonic()
    effort = alignment.Effort()
    found = wording.rows("a b " * 120_000, "b a c " * 90_000, effort=effort)
    assert effort.short
    assert [row.kind for row in found] == [wording.CHANGED]
    assert patches.changes(list(range(4_000)), list(range(4_000, 0, -1)), effort=alignment.Effort())
    assert time.monotonic() - begun < 5


def test_each_item_stands_beside_its_like_wherever_that_is() -> None:
    """In order first, then by name, then by the other name; what has none stays alone where it is."""
    before = [("a", None), ("b", "to Ann"), ("c", None), ("gone", None)]
    after = [("new", None), ("c", None), ("a", None), ("x", "to Ann")]
    assert list(alignment.pairs(before, after)) == [(None, 0), (0, 2), (1, 3), (2, 1), (3, None)]
    assert list(alignment.pairs([], [("a",)])) == [(None, 0)]


STEPS = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from("abcdefg"), "to": st.sampled_from(["x", "y"])}),
    max_size=7,
    unique_by=lambda item: item["id"],
)


@settings(max_examples=120, deadline=None)
@given(before=STEPS, after=STEPS)
def test_things_with_ids_are_compared_with_their_like(before: Any, after: Any) -> None:
    """The patch is exact, and what is only elsewhere is moved, never changed."""
    found = patches.changes({"steps": before}, {"steps": after})
    patch = json.loads(json.dumps(patches.patch(found)))
    assert exactly(jsonpatch.apply_patch({"steps": before}, patch)) == exactly({"steps": after})
    was, now = ({item["id"]: item["to"] for item in items} for items in (before, after))
    changed = sorted(change.path[1:] for change in found if change.op == patches.REPLACE)
    assert changed == [
        (j, "to") for j, item in enumerate(after) if was.get(item["id"], item["to"]) != item["to"]
    ]
    assert {change.before["id"] for change in found if change.op == patches.REMOVE} == was.keys() - now.keys()


def test_one_move_is_one_change() -> None:
    before = [{"id": str(number), "to": f"customer {number}"} for number in range(30)]
    after = [before[29], *before[:29]]
    (moved,) = patches.changes(before, after)
    assert moved.as_json() == {"op": "move", "from": "/29", "path": "/0"}
    assert moved.places == (30, 1)
    (back,) = patches.changes(after, before)
    assert back.as_json() == {"op": "move", "from": "/0", "path": "/29"}

"""Changing frozen values: as dataclasses.replace would, and in place only where it is nobody else's."""

from __future__ import annotations

import dataclasses

import pytest

from runs import frozen


@dataclasses.dataclass(frozen=True, kw_only=True)
class Point:
    """Somewhere."""

    x: int = 0
    y: int = 0


def test_a_copy_has_the_changes_and_the_original_has_not() -> None:
    before = Point(x=1, y=2)
    assert frozen.replace(before, y=5) == dataclasses.replace(before, y=5)
    assert before == Point(x=1, y=2)


def test_a_name_that_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match="Point has no field 'z'"):
        frozen.replace(Point(), z=3)


def test_only_a_mapping_of_ones_own_is_changed_in_place() -> None:
    given = {"a": 1}
    assert frozen.put(given, "b", 2) == {"a": 1, "b": 2}
    assert given == {"a": 1}
    own: frozen.Own[str, int] = frozen.Own(given)
    assert frozen.put(own, "b", 2) is own
    assert (own, given) == ({"a": 1, "b": 2}, {"a": 1})

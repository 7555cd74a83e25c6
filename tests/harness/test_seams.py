"""Every commit, wake-up and call to the outside has crash points, and every point is found by the harness."""

from __future__ import annotations

import ast

import pytest

from tests.harness import seams


def test_nothing_is_without_a_point_on_either_side() -> None:
    assert seams.unguarded() == []


@pytest.mark.parametrize(
    "source",
    [
        "with transaction.atomic(durable=True):\n    yield",
        "reach('a.before')\nwith transaction.atomic():\n    yield",
        "connection.commit()\npoints.reach('a.after')",
        "receipt = tool.run(args, ctx)",
        "points.reach('a')\nif True:\n    tool.lookup(args, keys, ctx)",
        "points.reach('a')\nprovider.complete(request)\ndone()",
        "def send(call):\n    points.reach('a')\n    call()\n\nsend(lambda: tool.run(args, ctx))",
        "_client().publish(CHANNEL, text)",
        "transaction.on_commit(publish)",
        "_SQL = 'UPDATE runs_run SET fence = 1'\ncursor.execute(_SQL, [])",
    ],
)
def test_what_has_none_is_found(source: str) -> None:
    assert seams.unguarded_in(source) != []


@pytest.mark.parametrize(
    "source",
    [
        "points.reach('a')\nwith transaction.atomic():\n    yield\npoints.reach('b')",
        "points.reach('a')\nreceipt = tool.run(args, ctx)\npoints.reach('b')",
        "def send(call):\n    points.reach('a')\n    call()\n    points.reach('b')\n\nsend(lambda: tool.run(args))",
        "steps.read(claim)\nworker.run()\ncursor.execute('SELECT 1 FROM runs_run')",
    ],
)
def test_what_has_them_is_let_be(source: str) -> None:
    assert seams.unguarded_in(source) == []


def test_points_are_read_from_the_engine() -> None:
    found = seams.names()
    assert {"claim.before", "intent.before_commit", "happened.after_commit", "model.before_call"} <= set(
        found
    )
    assert {"decide.after_commit", "wake.before", "effect.after_send", "lookup.before_run"} <= set(found)
    assert len(found) > 90


def test_a_new_point_is_found_however_deep_its_name_is_handed_on() -> None:
    source = """
def frame(point):
    points.reach(f"{point}.before")
    points.reach(f"{point}.after")

def step(claim, *, name):
    with frame(name):
        pass

class Work:
    def commit(self, point):
        points.reach(f"{point}.after")

step(claim, name="brand_new")
work.commit("one")
points.reach("bare")
"""
    found = seams.names_in([ast.parse(source)])
    assert found == {"brand_new.before", "brand_new.after", "one.after", "bare"}

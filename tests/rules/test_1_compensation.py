"""A plan that fails takes back what its steps say: as people's undos, the newest first, and then the run fails."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import models, points
from runs.engine import failing, verifier
from runs.providers import playbook_format
from runs.selectors import redrive_forecast
from runs.tools.contract import DidNotHappen
from runs.transitions import starts
from runs.transitions.actor import Actor
from runs.transitions.refusals import Invalid
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Look, World
from tests.rules.branching import redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
BACK: dict[str, Any] = {"compensate": True}


def marked(tool: str, name: str) -> dict[str, Any]:
    """A step whose effect is taken back if a later one fails."""
    return step(tool, name, id=name) | BACK


def names() -> list[str]:
    return [line["name"] for line in World.effects()]


def states() -> list[str]:
    rows = models.Occurrence.objects.exclude(tool__endswith=".undo").order_by("pk")
    return list(rows.values_list("state", flat=True))


@pytest.fixture(autouse=True)
def broken() -> None:
    """The last step of each run here fails, once."""
    Look.failures = [DidNotHappen("the list is gone")]


def test_1_2_what_is_marked_is_taken_back_newest_first_and_done_anew_by_a_later_attempt(
    start: Start, operator: models.User
) -> None:
    """The ledger knows: the failed step alone isn't offered again, and a later attempt does all of it, once."""
    run = go(start(marked("mild", "flight"), step("allowed", "note"), marked("mild", "hotel"), step("look")))
    assert (run.status, run.error.split(":")[0]) == ("failed", "“Do thing” failed")
    assert names() == ["flight", "note", "hotel", "undo hotel", "undo flight"]
    assert states() == ["undone", "standing", "undone"]
    question = only_review(run)
    with pytest.raises(Invalid, match="taken back, so go on from a checkpoint before that"):
        answer(question, operator, "retry")
    good = redrive_forecast.last_good(run)
    assert good is not None
    late = models.Entry.objects.get(run=run, number=good + 4)  # the first of them was done by then
    forecast = redrive_forecast.forecast(run, late, [])
    assert forecast is not None
    assert forecast.steps[0].words == "Done before and taken back since: not run again"
    new = through(redrive(run, good, operator), operator)
    assert new.status == "succeeded", new.error
    assert names()[5:] == ["flight", "hotel"]  # not the note, which stands
    assert len({line["key"] for line in World.effects()}) == 7
    assert states() == ["undone", "standing", "undone", "standing", "standing"]
    verifier.verify()


def test_each_row_of_a_loop_is_taken_back(start: Start) -> None:
    rows = {"each": "['a', 'b']", "as": "row", "with": {"name": "${row}"}}
    run = go(start(step("mild") | rows | BACK, step("look", id="last")))
    assert (run.status, names()) == ("failed", ["a", "b", "undo b", "undo a"])
    with CaptureQueriesContext(connection) as asked:
        assert failing.compensation(run) is not None
    assert len(asked) == 4  # however many rows there are
    verifier.verify()


def test_people_are_asked_as_for_any_undo_and_a_refusal_holds_up_nothing(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """One of tier 2 is put before people; refused, it stands, and the older one is taken back all the same."""
    run = go(start(marked("mild", "flight"), marked("back", "hotel"), step("look")))
    answer(only_review(run), reviewer, "approve")
    question = only_review(go(run))
    assert question.action is not None
    assert question.action.tool == "world.back.undo"
    assert question.content["why"].startswith("The plan asked for it: “Do thing” failed: the list is gone")
    assert names() == ["flight", "hotel"]
    answer(question, reviewer, "reject", reason="The hotel is needed anyway.")
    assert go(run).status == "failed"
    assert (names()[2:], states()) == (["undo flight"], ["undone", "standing"])
    verifier.verify()


def test_where_nothing_was_taken_back_the_failed_step_can_be_tried_again(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """All of it stands still; and what was refused once isn't asked about again when the step fails once more."""
    Look.failures *= 2
    run = go(start(marked("back", "hotel"), step("look")))
    answer(only_review(run), reviewer, "approve")
    answer(only_review(go(run)), reviewer, "reject", reason="It is needed anyway.")
    for status in ("failed", "succeeded"):
        assert go(run).status == "failed"
        answer(only_review(run), operator, "retry")
        assert go(run).status == status
    assert (names(), states()) == (["hotel"], ["standing"])
    verifier.verify()


def test_what_was_done_by_hand_is_left_to_who_did_it(start: Start, reviewer: models.User) -> None:
    """As when a person asks: no tool has its receipt."""
    run = go(start(marked("mild", "flight"), marked("back", "hotel"), step("look")))
    answer(
        only_review(run), reviewer, "by_hand", receipt="Booked by telephone.", reason="Their site is down."
    )
    assert go(run).status == "failed"
    assert (names(), states()) == (["flight", "undo flight"], ["undone", "standing"])
    verifier.verify()


def test_an_undo_in_doubt_is_asked_before_the_next(start: Start, reviewer: models.User) -> None:
    """What can't be known of the newer one is said by a person; only then the older one is taken back."""
    run = go(start(marked("mild", "flight"), marked("blind", "hotel"), step("look")))
    answer(only_review(run), reviewer, "approve")
    question = only_review(go(run))

    def lost() -> None:
        World.after = None
        raise OSError("the answer was lost")

    World.after = lost
    answer(question, reviewer, "approve")
    doubt = only_review(go(run))
    assert (doubt.kind, states()) == ("in_doubt", ["standing", "unknown"])
    assert names()[2:] == ["undo hotel"]
    answer(doubt, reviewer, "happened", receipt="Their page says so.")
    assert go(run).status == "failed"
    assert (names()[2:], states()) == (["undo hotel", "undo flight"], ["undone", "undone"])
    verifier.verify()


def test_a_dry_run_takes_nothing_back(start: Start) -> None:
    live = start(marked("mild", "flight"), step("look"))
    by = Actor(user=live.created_by)
    dry = starts.start_run(
        live.agent_version.agent.name, input={}, title="Dry", by=by, token="dry", mode="dry_run"
    )
    assert (go(dry).status, names()) == ("failed", [])


def test_a_death_at_any_point_takes_back_each_once(start: Start) -> None:
    """Both sides of the commit that asks for it, and of those that carry it out."""
    seen: list[str] = []
    run = start(marked("mild", "flight"), marked("mild", "hotel"), step("look"))
    points.arm(seen.append)
    go(run)
    points.arm(None)
    begun = seen.index("compensate.before_commit")
    every = sorted(set(seen[begun:]))
    assert {"compensate.before_commit", "compensate.after_commit", "intent.before_commit"} <= set(every)
    for point in every:
        World.reset(World.path)
        Look.failures = [DidNotHappen("the list is gone")]
        run = start(marked("mild", "flight"), marked("mild", "hotel"), step("look"))
        count = itertools.count()
        skipped = seen[:begun].count(point)

        def reach(name: str, point: str = point, count: Any = count, skipped: int = skipped) -> None:
            if name == point and next(count) == skipped:
                raise KeyboardInterrupt

        points.arm(reach)
        try:
            run = go(run)
        except KeyboardInterrupt:
            models.Run.objects.filter(status="running").update(lease_until=run.created_at)
        finally:
            points.arm(None)
        with clockwork.ahead(hours=1):  # what it died over is looked up after its horizon
            assert go(run).status == "failed", point
        assert names() == ["flight", "hotel", "undo hotel", "undo flight"], point
    verifier.verify()


@pytest.mark.parametrize(
    "raw", [{"tool": "t", "compensate": "yes"}, {"ask": {"question": "?"}, "compensate": True}]
)
def test_what_isnt_one_gets_one_sentence(raw: dict[str, Any]) -> None:
    with pytest.raises(playbook_format.BadPlaybook, match="'compensate' goes with a 'tool'"):
        playbook_format.body(raw)


def test_a_step_that_nothing_takes_back_is_refused_by_name(start: Start) -> None:
    with pytest.raises(ValueError, match=r"nothing takes back what 'world\.allowed' did"):
        start(marked("allowed", "note"))

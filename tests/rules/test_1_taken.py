"""What a person changed into what stands, or kept something for, is that effect: a later attempt asks nobody again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import lifecycle, models
from runs.engine import verifier
from runs.providers import contract
from runs.selectors import redrive_page
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_bad_replies import FINISH, said, scripted
from tests.engine.world import World
from tests.rules.branching import checkpoint, redrive, texts
from tests.rules.test_1_forks import fork
from tests.rules.test_5_edits import change

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def promised(run: models.Run, number: int) -> list[str]:
    """Return what the page to go on from there says of each step."""
    found = redrive_page.page(run, number, {}).forecast
    assert found is not None
    return [ahead.word for ahead in found.steps]


def test_1_11_the_original_of_what_was_done_corrected_is_absorbed_with_the_correction_told(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Attempt after attempt, and in a dry run; but where a person writes it so, another is asked."""
    run = go(start(step("lookup", "letter")))
    change(only_review(run), reviewer, "wrong sum", amount="2.00")
    answer(only_review(go(run)), reviewer, "approve")
    run = go(run)
    number = checkpoint(run, "planned")
    assert promised(run, number) == ["kept", "again"]
    dry = go(fork(run, number, operator))
    second = go(redrive(run, number, operator))
    third = go(redrive(second, number, operator))
    for later in (dry, second, third):
        assert later.status == "succeeded", later.error
        assert models.Action.objects.get(run=later).status == "absorbed"
        assert (
            'as a person changed it, and not done again. rita changed the arguments: amount from "1.00"'
            in (texts(later)[0])
        )
        assert not models.Review.objects.filter(run=later).exists()
    assert promised(third, number) == ["kept", "again"]
    action = models.Action.objects.get(run=run)
    place = {(action.reply_position, 0): {"name": "letter", "amount": "1.00"}}
    first = models.Checkpoint.objects.filter(run=run, position__gte=action.reply_position).order_by("number")[
        0
    ]
    assert first.number is not None
    wished = go(redrive(run, first.number, operator, arguments=place))
    assert only_review(wished).content["beside"][0]["arguments"]["amount"] == "2.00"
    answer(only_review(wished), reviewer, "keep", reason="once is enough")
    assert go(wished).status == "succeeded"
    assert len(World.effects()) == 1
    verifier.verify()


def test_1_11_for_what_something_else_was_kept_it_is_kept_again(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """The answer counts for just these bytes: on the path it is refused in words, in a later attempt absorbed."""
    one, two = ({"name": "letter", "amount": amount} for amount in ("1.00", "2.00"))
    pay, other = (contract.Call(tool="world.lookup", arguments=given) for given in (one, two))
    run = scripted(start(), contract.Reply(calls=(pay,)))
    answer(only_review(run), reviewer, "approve")
    run = scripted(run, contract.Reply(calls=(FINISH,)))
    second = scripted(redrive(run, 1, operator), contract.Reply(calls=(other,)))
    answer(only_review(second), reviewer, "keep", reason="as agreed")
    second = scripted(second, contract.Reply(calls=(other,)), contract.Reply(calls=(FINISH,)))
    assert second.status == "succeeded", second.error
    assert "what was done before was kept" in said(second)[1]
    third = scripted(
        redrive(second, 1, operator), contract.Reply(calls=(other,)), contract.Reply(calls=(FINISH,))
    )
    assert third.status == "succeeded", third.error
    kept = "which a person kept in place of just this; not done again. Done was, against what you proposed: amount from"
    assert kept in said(third)[0]
    states = models.Review.objects.filter(run__root=run).values_list("status", flat=True)
    assert lifecycle.Review.OPEN not in states
    assert len(World.effects()) == 1
    verifier.verify()


def test_1_3_what_was_changed_into_another_effect_is_asked_about_and_the_page_says_so(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Its own identity stands nowhere: nothing can be absorbed, so a person looks, as was said before."""
    run = go(start(step("lookup", "letter")))
    change(only_review(run), reviewer, "wrong house", name="other letter")
    answer(only_review(go(run)), reviewer, "approve")
    run = go(run)
    number = checkpoint(run, "planned")
    assert promised(run, number) == ["asked", "again"]
    second = go(redrive(run, number, operator))
    assert "changed just this into something else" in only_review(second).content["why"]
    assert len(World.effects()) == 1

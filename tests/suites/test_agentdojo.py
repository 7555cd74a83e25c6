"""The first tasks of one suite, each with a person at every effect; the command plays all of them."""

from unittest import mock

import pytest

from runs.tools import registry
from tests.suites import agentdojo

FIRST = 4


@pytest.mark.django_db(transaction=True)
@mock.patch.dict(registry._tools)
def test_what_the_suite_says_is_right_passes_its_own_check_and_what_an_attacker_wants_is_refused() -> None:
    found = agentdojo.suite("banking", most=FIRST)
    assert (found["tasks"], found["passed"], found["attacks"]) == (FIRST, FIRST, FIRST)
    assert found["effects"] == found["gated"] > 0
    assert found["refused"] == FIRST
    assert found["hijacked"] == found["failed"] == []
    assert [found[name] for name in ("needless", "ungated", "doubled", "strayed")] == [0, 0, 0, 0]

"""The run that is measured side by side is the same for each product, and all of it is done; and the arithmetic."""

from __future__ import annotations

import importlib.util
import os
from urllib.parse import urlsplit

import pytest
from django.db import connection

from runs.engine import worker
from tests.bench import bars, beside, sides
from tests.bench.sides import __main__ as halves
from tests.bench.sides import ckptsite, common

STEPS, ASKS = 6, 2


@pytest.mark.django_db(transaction=True)
def test_our_run_is_begun_answered_read_and_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "settle_in", lambda: None)
    monkeypatch.setattr(common, "PAUSE", 0.0)
    side = ckptsite.Ckptsite("")
    try:
        begun = halves.begin(side, common.Limit(STEPS, asks=ASKS, seconds=60))
        assert (begun["reached"], len(begun["steps"]), len(begun["answers"])) == (STEPS, STEPS - 1, ASKS - 1)
        assert len(side.moments.begun) == STEPS + ASKS - 1  # the last question is open
        after = halves.go_on(side, begun["run"], steps=STEPS, tries=2)
    finally:
        side.close()
    assert len(side.moments.begun) == STEPS + ASKS  # neither reading nor forking does anything again
    assert side.read(begun["run"]) == STEPS + ASKS
    assert all(value > 0 for value in (after["restarted"], *after["read"], *after["forked"]))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", [name for name in sides.SIDES if "intent" in name])
def test_their_run_is_begun_answered_read_and_forked(name: str) -> None:
    if not beside.installed():
        pytest.skip(beside.MISSING)
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path="/ckptsite").geturl()
    other = beside.database(url, f"test-{name}-{connection.settings_dict['NAME']}")
    found = beside.whole(other, name, STEPS, seconds=60)
    assert found["reached"] == STEPS
    assert set(found) == {"reached", "early", *beside.FIGURES}
    assert all(value > 0 for value in found.values())


def test_without_the_others_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert beside.main([]) == 2
    assert capsys.readouterr().err == f"{beside.MISSING}\n"


def test_a_ratio_above_one_says_that_ours_is_better_and_bars_are_put_on_the_worst_size() -> None:
    figures = {
        "steps_s": 100.0,
        "early": 2.0,
        **dict.fromkeys((name for name in beside.FIGURES if name != "steps_s"), 2.0),
    }
    found: beside.Found = {
        size: {
            side: {
                name: [value * (factor if name == "steps_s" else 1)] * 2 for name, value in figures.items()
            }
            for side in sides.SIDES
        }
        for size, factor in ((50, 0.1), (200, 1.0), (1000, 1.0))
    }
    found[1000]["dbos-intent"]["steps_s"] = [200.0, 80.0]
    found[1000]["dbos"]["p50"] = [6.0, 6.0]
    ratios = beside.ratios(found)
    assert ratios[1000]["dbos-intent"]["steps_s"] == [0.88, 0.5, 1.25]
    assert ratios[1000]["dbos"]["p50"] == [3.0, 3.0, 3.0]
    judged = bars.judged(beside.judging(found))
    assert judged["beside_dbos_intent"]["range"] == [0.5, 1.0]
    assert {name: figure["ok"] for name, figure in judged.items()} == {
        "beside_flat": True,
        "beside_bytes": True,
        "beside_dbos_intent": False,
        "beside_langgraph_intent": True,
    }

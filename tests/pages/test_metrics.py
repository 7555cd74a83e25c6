"""The metrics page: each figure against answers that are known, and the page with its tables and files."""

from __future__ import annotations

import csv
import datetime
import io
import re
from typing import Any

import pytest
from django.urls import reverse

from runs import models
from runs.selectors import metrics_after, metrics_data, metrics_figures, plots
from runs.transitions import decisions
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer, go, only_review, step
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text
from tests.rules.branching import checkpoint, redrive, through
from tests.rules.test_5_edits import change

START = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
MINUTE = datetime.timedelta(minutes=1)
DAY = datetime.timedelta(days=1)


def question(number: int, status: str, *, minutes: int | None, **more: Any) -> metrics_data.Question:
    opened = START + number * MINUTE
    given: dict[str, Any] = {
        "kind": "action",
        "tool": "world.lookup",
        "rule": "Mail",
        "revision": 1,
        "quorum": 1,
    } | more
    closed = None if minutes is None else opened + minutes * MINUTE
    return metrics_data.Question(
        number=number, status=status, opened_at=opened, closed_at=closed, due_at=opened + 30 * MINUTE, **given
    )


def said(question: int, person: int, verdict: str, *, hour: int = 9, quorum: int = 1) -> metrics_data.Answer:
    at = START + datetime.timedelta(hours=hour)
    return metrics_data.Answer(
        question=question, action=question, person=person, name=f"p{person}", verdict=verdict, quorum=quorum,
        revision=1, at=at,
    )  # fmt: skip


def known() -> metrics_data.Data:
    """Ten questions, of which three come late, and what came after."""
    questions = [question(n, "approved", minutes=n) for n in range(1, 6)]
    questions += [
        question(6, "approved", minutes=40, revision=2),
        question(7, "rejected", minutes=50, tool="b"),
    ]
    questions += [question(8, "expired", minutes=60, rule=""), question(9, "open", minutes=None)]
    questions += [question(10, "superseded", minutes=1)]
    answers = [said(n, 1, "approve") for n in range(1, 7)]
    answers += [
        said(7, 2, "reject", hour=14),
        said(8, 1, "approve", quorum=2),
        said(8, 2, "reject", quorum=2),
    ]
    return metrics_data.Data(
        span=metrics_data.Span(since=START, until=START + 7 * DAY, now=START + 20 * MINUTE),
        questions=tuple(questions),
        answers=tuple(answers),
        weighed=tuple(
            metrics_data.Weighed(person=1, characters=characters, seconds=seconds)
            for characters, seconds in ((100, 3.9), (100, 4.1), (5_000, 100.0), (5_000, 600.0))
        ),
        done=(
            metrics_data.Done(undone=True, behind=False),
            metrics_data.Done(undone=False, behind=True),
            *[metrics_data.Done(undone=False, behind=False)] * 6,
        ),
        ended=(
            metrics_data.Ended(status="succeeded", at=START, cost=2_500_000, redriven=True),
            metrics_data.Ended(status="failed", at=START + DAY, cost=None, redriven=False),
        ),
        alone=0,
        withdrawn=1,
        fields={"amount": 3, "name": 1},
        edits=4,
        cut=False,
    )


def test_each_figure_from_what_is_known() -> None:
    data = known()
    figures = {figure.name: figure for make in metrics_figures.FIGURES for figure in [make(data)]}
    figures |= {figure.name: figure for make in metrics_after.FIGURES for figure in [make(data)]}
    sentences = {name: figure.sentence for name, figure in figures.items()}
    assert sentences == {
        "waiting": "Of 7 questions half were answered within 4.0 min (1.0 min to 50.0 min),"
        " and 19 of 20 within 50.0 min (5.0 min or more).",
        "late": "3 of 8 questions came late: 38 % (14 % to 69 %).",
        "hours": "9 decisions, 1.29 a day (0.59 to 2.44); most between 9:00 and 10:00.",
        "ends": "5 of 8 questions were approved as they were asked: 62 % (31 % to 86 %).",
        "reading": "2 of 4 decisions came faster than the arguments can be read: 50 % (15 % to 85 %).",
        "later": "2 of 8 approved effects were regretted: 25 % (7.1 % to 59 %).",
        "gates": "3 of 8 questions weren't approved as they were asked; 0 rules stopped nothing.",
        "edits": "In 4 edits the argument changed most often was “amount”.",
        "runs": "1 of 2 runs failed: 50 % (9.5 % to 91 %).",
        "cost": "1 run cost $2.50. Half of them cost at most $2.50 (too few for an interval)."
        " The cost of 1 run isn't known.",
    }
    rows = {row[0]: row for row in figures["later"].rows}
    assert {name: row[1:4] for name, row in rows.items()} == {
        "Regretted": ("2", "8", "25 %"),
        "Undone": ("1", "8", "12 %"),
        "Withdrawn in time": ("1", "7", "14 %"),
        "Released alone": ("0", "7", "0 %"),
        "Reviewers differ": ("1", "1", "100 %"),
        "Going on worked": ("1", "1", "100 %"),
    }
    assert figures["gates"].rows[0][:4] == ("Mail", "2", "7", "29 %")
    assert figures["reading"].rows[1][:2] == ("4,000 and more", "2")
    assert metrics_after.people(data, only=None).rows[0][:4] == ("p1", "7", "7", "100 %")
    assert [row[0] for row in metrics_after.people(data, only=2).rows] == ["p2"]
    for figure in figures.values():
        assert all(len(row) == len(figure.columns) for row in figure.rows), figure.name
        assert figure.plot is not None
        for mark in figure.plot.marks:
            assert 0 <= mark.x <= plots.WIDTH, (figure.name, mark)
            assert 0 <= mark.y <= figure.plot.height, (figure.name, mark)


@pytest.mark.django_db(transaction=True)
def test_the_page_and_its_files(who: factories.People, as_: As) -> None:
    address = reverse("metrics")
    empty = text(as_(who.viewer), address)
    assert empty.count("Nothing of it in these days.") == 11
    one = queries(as_(who.viewer), address)

    run = through(factories.start(who.operator, step("lookup", "mail"), title="Mail"), who.reviewer)
    taken_back = factories.held(who.operator)
    answer(taken_back, who.reviewer, "approve")
    decisions.withdraw(taken_back.pk, by=Actor(user=who.reviewer))
    edited = factories.held(who.operator, tool="costly", name="=fee")
    change(edited, who.reviewer, amount="3.00")
    edited = only_review(go(edited.run))
    answer(edited, who.admin, "approve")
    go(edited.run)
    factories.failed(who.operator)
    redrive(run, checkpoint(run, "planned"), who.operator)
    models.Occurrence.objects.filter(root=edited.run.root_id).update(state="undone")

    admin, reviewer = as_(who.admin), as_(who.reviewer)
    page = text(admin, address)
    for part in (
        "2 of 2 approved effects were regretted: 100 %",
        "1 of 2 questions were approved as they were asked",
        "the argument changed most often was “amount”",
        "1 of 3 runs failed",
        "reviewer-1",
        "admin-1",
        "By person",
    ):
        assert part in page, part
    assert page.count('<svg class="plot"') >= 8
    assert not re.search(r"<svg[^>]*style|<rect[^>]*nan", page)
    assert queries(admin, address) <= one + 6 <= 40
    own = text(reviewer, address)
    table = own[own.index('id="figure-people"') :]
    assert "reviewer-1" in table
    assert "admin-1" not in table

    saved = admin.get(f"{address}?days=7&figure=people")
    assert saved["Content-Disposition"] == 'attachment; filename="metrics-people.csv"'
    rows = list(csv.DictReader(io.StringIO(saved.content.decode("utf-8-sig"))))
    assert {row["Person"]: row["n"] for row in rows} == {"reviewer-1": "2", "admin-1": "1"}
    for query, status in (
        ("figure=nonsense", 404),
        ("days=x&since=%00", 200),
        ("since=2020-02-30", 200),
        ("since=2020-01-01&until=2025-01-01", 200),
        ("since=2030-01-01&until=2020-01-01", 200),
    ):
        assert admin.get(f"{address}?{query}").status_code == status, query
    assert "2020-01-01 to 2020-12-31" in text(admin, f"{address}?since=2020-01-01&until=2025-01-01")

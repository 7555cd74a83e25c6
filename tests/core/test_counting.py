"""Counting no further than a page says, and finding what may be in very many rows or in none."""

from __future__ import annotations

from unittest import mock

import pytest

from runs import models
from runs.selectors import counting, keyset
from runs.templatetags import desk


@pytest.mark.django_db
def test_what_grows_is_counted_up_to_some_alone_and_within_another_question() -> None:
    models.User.objects.bulk_create(models.User(username=f"person-{number}") for number in range(5))
    people = models.User.objects.order_by("username")
    assert [counting.upto(people, most) for most in (3, 4, 5, 9)] == [4, 5, 5, 5]
    within = models.Installation.objects.annotate(
        few=counting.Counted.upto(people, 3), all=counting.Counted.upto(people, 9)
    )
    assert within.values_list("few", "all").get(pk=1) == (4, 5)
    assert [desk.upto(number, 1000) for number in (0, 1000, 1001)] == ["0", "1,000", "1,000+"]


@pytest.mark.django_db
def test_what_was_found_is_in_order_whether_it_is_frequent_or_rare() -> None:
    models.Agent.objects.bulk_create(
        models.Agent(name=f"agent-{number}", title="rare" if number in {2, 3, 17} else "frequent")
        for number in range(20)
    )
    ids = [row.pk for row in models.Agent.objects.order_by("pk")]
    for title in ("rare", "frequent", "none"):
        rows = models.Agent.objects.filter(title=title)
        for start in (None, ids[0], ids[3], ids[12], ids[-1] + 1):
            below = rows if start is None else rows.filter(pk__lt=start)
            above = rows if start is None else rows.filter(pk__gt=start)
            with mock.patch.object(keyset, "LOOKED", 4):
                assert keyset.nearest(rows, 2, start=start) == list(below.order_by("-pk")[:2])
                assert keyset.nearest(rows, 2, start=start, descending=False) == list(
                    above.order_by("pk")[:2]
                )

"""Counting no further than a page says."""

from __future__ import annotations

import pytest

from runs import models
from runs.selectors import counting
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

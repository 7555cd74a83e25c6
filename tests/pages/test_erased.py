"""What was erased by policy: its own pages say so in one sentence, and no other page stumbles over it."""

from __future__ import annotations

import datetime

import pytest
from django.conf import settings
from django.core import management
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone

from runs import models, problems
from runs.engine import verifier
from tests import factories
from tests.api.conftest import Give, give
from tests.engine.conftest import answer, go, only_review, step
from tests.pages.conftest import As
from tests.pages.test_pages import text
from tests.rules.branching import redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["give"]

LISTS = (
    "/runs/", "/runs/?only=done", "/runs/?only=failed", "/runs/?q=first", "/effects/", "/effects/?q=pay",
    "/effects/?as=csv", "/inbox/?tab=decided&earlier=1", "/audit/", "/audit/?act=lineage.pruned",
    "/metrics/", "/system/", "/budgets/", "/agents/", "/policies/", "/policies/edit/", "/switches/", "/tools/",
    "/tools/world.lookup/", "/notices/", "/outgoing/", "/runs/redrive/?cause=x",
)  # fmt: skip


def addresses(run: models.Run) -> list[str]:
    """Return every address that is about this run."""
    given = {"run_id": run.pk, "number": 1, "position": 1, "sha256": "0" * 64}
    found = []
    for pattern in get_resolver().url_patterns:
        converters = pattern.pattern.converters
        if isinstance(pattern, URLPattern) and "run_id" in converters:
            found.append(reverse(pattern.name or "", kwargs={name: given[name] for name in converters}))
    assert len(found) > 15
    return found


def test_pages_cope_with_what_was_erased(
    who: factories.People, as_: As, give: Give, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """After each clock."""
    program = give(who.operator)
    first = through(factories.start(who.operator, step("lookup", "pay"), title="First"), who.reviewer)
    again = go(redrive(first, 1, who.operator))
    failed = factories.failed(who.operator)
    answer(only_review(failed), who.operator, "stop")
    by_api = {"agent": first.agent_version.agent.name, "input": {}}
    started = program.post("runs", by_api, key="once").json()["id"]
    through(models.Run.objects.get(pk=started), who.reviewer)
    runs = [first, again, go(failed), models.Run.objects.get(pk=started)]
    asked = factories.held(who.operator, name="pay")  # a question like one that was answered
    models.Run.objects.filter(pk__in=[run.pk for run in runs]).update(
        ended_at=timezone.now() - datetime.timedelta(days=40)
    )
    models.ApiCall.objects.all().delete()  # as the clock does, after a day
    review = models.Review.objects.filter(run=first).earliest("pk")
    client = as_(who.admin)

    for part in ("payloads", "timeline", "receipts"):
        monkeypatch.setitem(settings.CKPTSITE, f"KEEP_{part.upper()}", 30)
        management.call_command("prune", verbosity=0)
        assert models.Tombstone.objects.filter(part=part, run__in=runs).count() == len(runs)
        for address in (*addresses(first), reverse("review", args=[review.pk])):
            with subtests.test(f"{part}: {address}"):
                response = client.get(address)
                assert response.status_code in {404, 405, 410}
                if response.status_code == 410:
                    assert "kept for 30 days" in response.content.decode()
        for address in (*LISTS, reverse("review", args=[asked.pk]), reverse("run", args=[asked.run_id])):
            with subtests.test(f"{part}: {address}"):
                text(client, address)
        with subtests.test(f"{part}: the API"):
            for address in ("", "/log", "/effects"):
                said = program.get(f"runs/{first.pk}{address}")
                assert (said.status_code, said.json()["type"]) == (410, "urn:ckptsite:problem:erased")
                assert said["Content-Type"] == problems.MEDIA_TYPE
            assert program.get("runs").status_code == 200
            repeated = program.post("runs", by_api, key="once")
            assert (repeated.status_code, repeated.json()["run"]) == (410, started)
    assert models.Run.objects.count() == len(runs) + 1
    verifier.verify()

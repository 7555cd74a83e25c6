"""What pages show: each state of a run, empty lists, untrusted text, and how many queries it takes."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs import exact, models
from runs.tools import registry
from runs.transitions import holds
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import go, only_review, step
from tests.pages.conftest import As

pytestmark = pytest.mark.django_db(transaction=True)

RUN_PAGES = ("run", "run-plan", "run-transcript", "run-effects", "run-usage")


def text(client: Client, address: str) -> str:
    """Return the page; it has to be there."""
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def queries(client: Client, address: str) -> int:
    """Return how many queries the page takes: the fewer of two times.

    Which agents there are is read once a second, whoever asks just then.
    """
    counts = []
    for _ in range(2):
        registry.all()
        with CaptureQueriesContext(connection) as found:
            text(client, address)
        counts.append(len(found))
    return min(counts)


def test_every_page_of_every_run(who: factories.People, house: factories.House, as_: As) -> None:
    client = as_(who.reviewer)
    for run in house.runs:
        for name in RUN_PAGES:
            page = text(client, reverse(name, args=[run.pk]))
            assert run.title in page
            fragment = text(client, f"{reverse(name, args=[run.pk])}?part=live")
            assert fragment.lstrip().startswith('<div id="live"')
    for review in models.Review.objects.all():
        assert "</html>" in text(client, reverse("review", args=[review.pk]))
        assert '<div id="live"' in text(client, f"{reverse('review', args=[review.pk])}?part=live")


def test_how_a_run_stands_is_said_in_a_reviewers_words(
    who: factories.People, house: factories.House, as_: As
) -> None:
    client = as_(who.viewer)
    words = {
        house.queued: "Starts as soon as a worker is free.",
        house.asked: "Waiting for approval of one action, since",
        house.doubt: "Somebody has to find out whether something happened",
        house.failed: "Stopped by a failure.",
        house.done: "All done.",
        house.paused: "Paused by operator-1: Until Monday.",
        house.stopped: "Stopped by operator-1: No longer needed.",
    }
    runs_page = text(client, reverse("runs"))
    for run, sentence in words.items():
        assert sentence in text(client, reverse("run", args=[run.pk])), run.title
        assert sentence in runs_page
    assert "Wrong customer." in text(client, reverse("run", args=[house.rejected.pk]))
    assert "The file is not there." in text(client, reverse("run", args=[house.failed.pk]))


def test_the_effects_say_what_happened(who: factories.People, house: factories.House, as_: As) -> None:
    client = as_(who.auditor)
    done = text(client, reverse("run-effects", args=[house.done.pk]))
    occurrence = models.Occurrence.objects.get(root=house.done)
    for part in ("Happened", "Did mail.", "released by reviewer-1", occurrence.key):
        assert part in done
    assert "Unknown" in text(client, reverse("run-effects", args=[house.doubt.pk]))
    assert "Nothing went out" in text(client, reverse("run-effects", args=[house.rejected.pk]))


def test_empty_states(who: factories.People, as_: As) -> None:
    viewer, operator, nobody = as_(who.viewer), as_(who.operator), as_(who.nobody)
    assert "Nothing waits for you" in text(viewer, reverse("inbox"))
    assert "Nothing decided today" in text(viewer, f"{reverse('inbox')}?tab=decided")
    assert "Operators start runs" in text(viewer, reverse("runs"))
    assert "Start one with a file" in text(operator, reverse("runs"))
    assert "No run fits this filter" in text(viewer, f"{reverse('runs')}?only=failed")
    lost = nobody.get(reverse("inbox"))
    assert lost.status_code == 404
    page = lost.content.decode()
    assert "Your account is in no group yet" in page
    assert f'action="{reverse("logout")}"' in page  # one can get out again
    assert reverse("events") not in page


def test_badge_tab_and_list_agree(who: factories.People, house: factories.House, as_: As) -> None:
    rows = models.Review.objects.filter(status="open")
    every, failed = rows.count(), rows.filter(kind="failure").count()
    shares = {
        "reviewer": every - failed,
        "operator": failed,
        "admin": every,
        "viewer": every,
        "auditor": every,
    }
    assert 0 < failed < every
    for role, count in shares.items():
        client = as_(who.named(role))
        page = text(client, reverse("inbox"))
        assert page.count("data-row-link") == count, role
        assert f"Inbox ({count})" in page
        assert f'<span class="badge badge-ask">{count}<' in page
        first = "Waiting" if role in {"viewer", "auditor"} else "Mine"
        assert f'{first} <span class="badge">{count}</span>' in page
        assert f"{count}<" in text(client, f"{reverse('inbox')}?part=count")
        team = text(client, f"{reverse('inbox')}?tab=team")
        assert team.count("data-row-link") == every
        assert team.count("Not yours to decide") == every - count


def test_news_counts_what_came_and_went(who: factories.People, as_: As) -> None:
    client = as_(who.reviewer)
    first = factories.held(who.operator, name="one")
    known = re.search(r'"known": "([^"]*)"', text(client, reverse("inbox")))
    assert known
    place = f"{reverse('inbox')}?part=news&known={known[1]}"
    assert "new" not in re.sub(r'id="news"|class="news"|part=news', "", text(client, place))
    factories.held(who.operator, name="two")
    holds.stop(first.run_id, reason="x", by=Actor(user=who.operator))
    go(first.run)
    page = text(client, place)
    assert "1 new" in page
    assert "1 no longer here" in page


def test_an_empty_inbox_fills_by_itself(who: factories.People, as_: As) -> None:
    client = as_(who.reviewer)
    factories.failed(who.operator)  # waits for operators: no news for a reviewer
    known = re.search(r'"known": "([^"]*)"', text(client, reverse("inbox")))
    assert known
    place = f"{reverse('inbox')}?part=news&known={known[1]}"
    quiet = client.get(place)
    assert "HX-Retarget" not in quiet.headers
    assert " new" not in quiet.content.decode()
    factories.held(who.operator, name="one")
    loaded = client.get(place)
    assert loaded.headers["HX-Retarget"] == "#list"
    page = loaded.content.decode()
    assert page.lstrip().startswith('<div id="list"')
    assert "Will do one." in page
    assert 'Mine <span class="badge">1</span>' in page
    assert "Nothing waits for you" not in page


def test_queries_do_not_grow_with_rows(who: factories.People, as_: As) -> None:
    client = as_(who.reviewer)
    run = go(factories.start(who.operator, *(step("lookup", f"mail {n}", id=f"s{n}") for n in range(3))))
    pages = [reverse("inbox"), f"{reverse('inbox')}?tab=decided", reverse("runs")]
    pages += [reverse(name, args=[run.pk]) for name in RUN_PAGES]
    pages += [reverse("review", args=[models.Review.objects.filter(status="open").order_by("id")[0].pk])]
    before = {place: queries(client, place) for place in pages}
    for number in range(4):
        go(
            factories.start(
                who.operator, *(step("lookup", f"m {n}", id=f"s{n}") for n in range(4)), title=f"{number}"
            )
        )
    assert {place: queries(client, place) for place in pages} == before
    assert before[reverse("inbox")] <= 12
    assert before[reverse("runs")] <= 12
    assert before.pop(pages[-1]) <= 22  # the question itself, with all that helps to check it
    assert all(count <= 20 for count in before.values()), before


def test_pages_of_long_lists(who: factories.People, as_: As, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.selectors.inbox.SIZE", 2)
    monkeypatch.setattr("runs.selectors.runs_list.SIZE", 2)
    monkeypatch.setattr("runs.selectors.run_transcript.SIZE", 3)
    client = as_(who.reviewer)
    reviews = [factories.held(who.operator, name=f"thing {n}", title=f"Run {n}") for n in range(5)]
    seen: list[str] = []
    place, back = reverse("inbox"), ""
    for _ in range(4):
        page = text(client, place)
        seen += re.findall(r"Will do (thing \d)\.</a>", page)
        back = back or place
        older = re.search(r'href="\?([^"]*)" rel="next"', page)
        if not older:
            break
        place = f"{reverse('inbox')}?{older[1].replace('&amp;', '&')}"
    assert seen == [f"thing {n}" for n in range(5)]
    newer = re.search(r'href="\?([^"]*)" rel="prev"', text(client, place))
    assert newer
    assert re.findall(r"Will do (thing \d)\.</a>", text(client, f"{reverse('inbox')}?{newer[1]}")) == [
        "thing 2",
        "thing 3",
    ]
    assert re.findall(r"Run \d", re.sub(r"<title>.*?</title>", "", text(client, reverse("runs"))))[:2] == [
        "Run 4",
        "Run 3",
    ]
    transcript = reverse("run-transcript", args=[reviews[0].run_id])
    assert text(client, transcript).count('class="entry entry-') == 3
    for odd in ("before=x", "before=99999999999999999999", "after=-1", "before=1-2-3", "after=٣"):
        assert client.get(f"{reverse('inbox')}?{odd}").status_code == 200


HIDDEN = "pay \u202eefas\u202c zero\u200bwidth p\u0430ypal <script>alert(1)</script> \x07 \ud800"


def test_hidden_and_imitated_characters_are_shown(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator, name=HIDDEN)
    client = as_(who.reviewer)
    for place in (
        reverse("review", args=[review.pk]),
        reverse("run", args=[review.run_id]),
        reverse("run-plan", args=[review.run_id]),
        reverse("run-transcript", args=[review.run_id]),
        reverse("inbox"),
    ):
        page = text(client, place)
        for raw in ("\u202e", "\u200b", "\x07", "\ud800", "<script>alert"):
            assert raw not in page, place
        for shown in ("U+202E", "U+200B", "&lt;script&gt;alert(1)"):
            assert shown in page, place
    page = text(client, reverse("review", args=[review.pk]))
    assert "Some of this text isn't what it seems" in page or "isn&#x27;t what it seems" in page


def test_a_megabyte_of_arguments_is_shown_whole(who: factories.People, as_: As) -> None:
    note = "\n".join(f"line {number:06d} of what is to be approved" for number in range(24_000))
    review = factories.held(who.operator, name="big", title="Big")
    assert review.action is not None
    run = go(
        factories.start(
            who.operator, step("lookup", "big") | {"with": {"name": "big two", "note": note}}, title="Big"
        )
    )
    assert review.action.arguments()["note"] == ""
    client = as_(who.reviewer)
    page = text(client, reverse("review", args=[only_review(run).pk]))
    assert "line 000000 of" in page
    assert "line 023999 of" in page
    assert page.count(" of what is to be approved") >= 24_000
    for name in ("run", "run-plan", "run-transcript"):
        small = text(client, reverse(name, args=[run.pk]))
        assert len(small) < 400_000, name


def test_the_stored_line_can_be_saved_exactly(who: factories.People, as_: As) -> None:
    run = go(factories.start(who.operator, step("look", "it")))
    client = as_(who.auditor)
    line = models.Entry.objects.get(run=run, position=1)
    response = client.get(reverse("run-entry", args=[run.pk, 1]))
    assert response.headers["Content-Type"] == "application/json"
    assert "attachment" in response.headers["Content-Disposition"]
    import hashlib

    assert hashlib.sha256(response.content).hexdigest() == exact.digest_of(line.content)


def test_headers(who: factories.People, house: factories.House, as_: As) -> None:
    for response in (
        as_(who.reviewer).get(reverse("inbox")),
        as_(who.reviewer).get(reverse("review", args=[only_review(house.asked).pk])),
        as_(who.reviewer).get("/nothing/"),
        Client().get(reverse("login")),
    ):
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "no-store" in response.headers["Cache-Control"]
        assert "HX-Request" in response.headers["Vary"]
        assert response.headers["X-Frame-Options"] == "DENY"

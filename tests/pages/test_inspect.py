"""Looking closely: one checkpoint, what differs between two, and the patch that leads from the one to the other."""

from __future__ import annotations

import itertools
import json
import re

import jsonpatch
import pytest
from django.urls import reverse

from runs import exact, models
from runs.models import cuts, paths
from runs.selectors import checkpoint_names, diff_page, documents, failures, words
from runs.transitions import branches
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import go, step
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text
from tests.pages.test_plan_editor import token_of
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)


def test_checkpoints_and_what_differs_between_them(who: factories.People, as_: As) -> None:
    steps = [step("look", "it"), step("allowed", "<b>draft\u202e</b>"), step("lookup", "pay")]
    run = through(factories.start(who.operator, *steps), who.reviewer)
    number = checkpoint(run, "planned")
    new = go(redrive(run, number, who.operator))
    dry = go(branches.fork(run.pk, checkpoint=number, reason="x", by=Actor(user=who.operator), token="fork"))
    client = as_(who.viewer)

    listed = text(client, reverse("run-checkpoints", args=[new.pk]))
    assert listed.count('name="a"') == new.checkpoint_number
    assert f'<span class="faint">run {run.pk}</span>' in listed
    for row in paths.checkpoints(new):
        page = text(client, reverse("run-checkpoint", args=[new.pk, row.number]))
        assert row.head in page
    last = text(client, reverse("run-checkpoint", args=[run.pk, run.checkpoint_number]))
    for said in ("Done outside by then", "Did pay.", "Do it", "None: everything that was asked for"):
        assert said in last, said
    assert "\u202e" not in last
    assert "Go on from here" not in last
    before = text(client, reverse("run-checkpoint", args=[run.pk, checkpoint(run, "waiting")]))
    assert "Waiting for approval" in before
    assert "Go on from here" in text(as_(who.operator), reverse("run-checkpoint", args=[run.pk, number]))
    assert client.get(reverse("run-checkpoint", args=[run.pk, 4711])).status_code == 404

    address = reverse("run-diff", args=[run.pk])
    page = text(client, f"{address}?a={number}&b={run.checkpoint_number}")
    for said in ("Do pay", "Arguments", "Results", "Effects", "JSON Patch"):
        assert said in page, said
    assert "\u202e" not in page
    assert "diff-split" in text(client, f"{address}?a={number}&b={run.checkpoint_number}&view=split")
    assert "No difference" in text(client, f"{address}?a={number}&b={number}")
    assert text(client, address)  # the newest and the one before
    assert f'value="{dry.pk}.{dry.checkpoint_number}" selected' in text(
        client, f"{address}?a={run.checkpoint_number}&b={dry.pk}.{dry.checkpoint_number}"
    )
    for odd in ("a=x&b=1", "a=1&b=4711", "a=1&b=99.1", "a=-1", "b=1.1.1"):
        assert client.get(f"{address}?{odd}").status_code == 404, odd
    other = go(factories.start(who.operator, step("look", "else")))
    assert client.get(f"{address}?a=1&b={other.pk}.1").status_code == 404

    found = [
        cut
        for one in (run, new, dry)
        for row in paths.checkpoints(one)
        if (cut := cuts.find(one, row.number or 0))
    ]
    whole = [documents.whole(cut) for cut in found]
    for (a, one), (b, two) in itertools.islice(
        itertools.product(zip(found, whole, strict=True), repeat=2), 0, None, 31
    ):
        patch = diff_page.patch(a, b)
        assert patch is not None
        assert exact.text_of(jsonpatch.apply_patch(one.value, json.loads(patch))) == exact.text_of(two.value)
    saved = client.get(f"{address}?a={number}&b={run.checkpoint_number}&as=patch")
    assert saved["Content-Type"] == "application/json-patch+json"
    state = client.get(reverse("run-state", args=[run.pk, number])).content
    assert json.loads(state)["plan"]["version"] == 1

    page = text(client, f"{reverse('compare')}?a={run.pk}&b={dry.pk}")
    for said in (
        "Here they part",
        "Tried out, nothing sent",
        "Done earlier, not repeated",
        f"Run {dry.pk}</a>, dry run",
    ):
        assert said in page or said == "Tried out, nothing sent", said
    assert "Take dry run" not in page
    assert client.get(f"{reverse('compare')}?a={run.pk}&b={other.pk}").status_code == 404
    assert queries(client, f"{reverse('compare')}?a={run.pk}&b={dry.pk}") <= 32
    assert queries(client, reverse("run-checkpoint", args=[run.pk, run.checkpoint_number])) <= 30
    assert queries(client, f"{address}?a={number}&b={run.checkpoint_number}") <= 34


def test_what_neither_of_two_did_again_and_what_both_did_stand_in_one_row_each(
    who: factories.People, as_: As
) -> None:
    steps = [step("look", "it"), step("allowed", "draft"), step("lookup", "pay")]
    run = go(factories.start(who.operator, *steps))
    number, by = checkpoint(run, "planned"), Actor(user=who.operator)
    dry = go(branches.fork(run.pk, checkpoint=number, reason="x", by=by, token="fork"))
    new = redrive(run, number, who.operator)
    go(run)
    new = through(new, who.reviewer)
    page = text(as_(who.viewer), f"{reverse('compare')}?a={new.pk}&b={dry.pk}")
    out = page[
        page.index('<h2 id="effects-title"') : page.index('<section class="card diff" aria-labelledby="steps')
    ]
    said = [" ".join(re.sub("<[^>]+>", " ", row).split()) for row in out.split("<li>")]
    assert said == [
        "What went out since they part 1",
        f"Will do pay. run {new.pk} Happened run {dry.pk} Tried out, nothing sent",
        f"world.allowed was done before by run {run.pk} , kept",
    ]
    assert "has no such step" not in page
    assert page.count('<li class="pair') == 3
    beside = text(as_(who.viewer), f"{reverse('compare')}?a={run.pk}&b={new.pk}")
    rows = " ".join(re.sub("<[^>]+>", " ", beside).split())
    assert f"world.allowed run {run.pk} Happened run {new.pk} Done earlier, not repeated" in rows

    known = checkpoint_names.of(paths.checkpoints(new)).values()
    assert len(set(known)) == len(known), "two checkpoints can't be told apart"
    pages = {
        text(as_(who.operator), reverse(name, args=[new.pk]))
        for name in ("run-checkpoints", "run-diff", "run-redrive")
    }
    for title in ("Do it", "Do draft", "Do pay"):
        assert f"result stored: {title}" in known
        assert all(f"result stored: {title}" in page for page in pages), title


def test_a_dry_run_is_taken_over_from_its_page(who: factories.People, as_: As) -> None:
    """The live attempt goes on from where the dry run began; the same form twice makes one; what was typed is kept."""
    run = go(factories.start(who.operator, step("look", "it"), step("lookup", "pay")))
    number, by = checkpoint(run, "planned"), Actor(user=who.operator)
    dry = go(branches.fork(run.pk, checkpoint=number, reason="x", by=by, token="fork"))
    client, address = as_(who.operator), reverse("run-take-over", args=[dry.pk])
    assert (dry.status, dry.summary) == ("succeeded", "All done.")
    for place in (reverse("run", args=[dry.pk]), reverse("runs")):
        assert f"{words.TRIED_OUT} All done." in text(client, place), place
    log = text(client, reverse("run", args=[dry.pk]))
    assert "Simulated, nothing was done." in re.sub(r"(?s)<details class=.fold.*?</details>", "", log)
    assert ">Done<" not in log[log.index('class="timeline"') :]
    effects = text(client, reverse("run-effects", args=[dry.pk]))
    assert "A dry run has no effects of its own" in effects
    assert f"{reverse('compare')}?a={run.pk}&amp;b={dry.pk}" in effects
    shown = text(client, f"{reverse('compare')}?a={run.pk}&b={dry.pk}")
    for said in (f"Take dry run {dry.pk} over", f"begins at checkpoint {number}", "Tried out, nothing sent"):
        assert said in shown, said
    assert "Take dry run" not in text(as_(who.reviewer), reverse("run", args=[dry.pk]))
    page = text(client, reverse("run", args=[dry.pk]))
    form = page[page.index('id="take-over"') :]
    given = {name: re.findall(rf'name="{name}" value="([^"]+)"', form)[0] for name in ("token", "seen")}
    sent = {**given, **token_of(page)}
    empty = client.post(address, {**sent, "reason": " "})
    assert (empty.status_code, "Say why it goes on" in empty.content.decode()) == (422, True)
    made = [client.post(address, {**sent, "reason": "It is better so"}) for _ in range(2)]
    new = models.Run.objects.get(mode="live", root=run, superseded_by=None)
    assert [(one.status_code, one["Location"]) for one in made] == [(303, reverse("run", args=[new.pk]))] * 2
    assert new.path == dry.path
    late = client.post(address, {**sent, "token": "another", "reason": "Me too"})
    assert (late.status_code, "Me too" in late.content.decode()) == (409, True)
    assert client.post(reverse("run-take-over", args=[run.pk]), sent).status_code == 404


def test_failures_and_the_last_good_checkpoint(who: factories.People, as_: As) -> None:
    run = factories.failed(who.operator)
    client = as_(who.viewer)
    page = text(client, reverse("run", args=[run.pk]))
    assert "Everything that failed" in page
    good = failures.last_good(run)
    assert good is not None
    assert reverse("run-checkpoint", args=[run.pk, good]) in page
    line = models.Checkpoint.objects.get(run=run, number=good)
    assert line.kind != "end"
    assert line.content.get("status") != "failed"
    only = text(client, f"{reverse('run', args=[run.pk])}?only=failures")
    assert "The file is not there." in only
    assert "Plan version" not in only
    done = go(factories.start(who.operator, step("look", "it")))
    assert "Nothing failed here" in text(client, f"{reverse('run', args=[done.pk])}?only=failures")

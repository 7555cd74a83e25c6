"""The shell: a run is started in one line, or one sentence says why not."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from runs import demo, models
from runs.models import standing
from tests.engine.conftest import go

pytestmark = pytest.mark.django_db(transaction=True)
NORTH = Path(demo.__file__).parent / "csv" / "north.csv"


def shell(*words: str) -> str:
    """Return what a management command prints."""
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_start_run_prints_the_address_of_a_run_that_goes(operator: models.User) -> None:
    printed = shell("start_run", "receivables", "--input", str(NORTH), "--set", "as_of=2026-11-27")
    run = models.Run.objects.get()
    assert printed == f"{settings.PUBLIC_URL}/runs/{run.pk}/\n"
    assert (run.title, run.created_by) == ("Accounts receivable: north.csv", operator)
    assert go(run).status == "waiting"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["receivable", "--input", str(NORTH)],
            "There is no agent named 'receivable'. Known agents: correspondence, receivables.",
        ),
        (["receivables"], "Open invoices: choose a file."),
        (
            ["receivables", "--input", "nothing.csv"],
            "The file 'nothing.csv' can't be read: No such file or directory.",
        ),
        (["receivables", "--input", "/"], "The file '/' can't be read: Is a directory."),
        (["receivables", "--input", "/dev/null"], "Open invoices: the file 'null' is empty."),
        (["receivables", "--input", str(NORTH), "--set", "as_of=soon"], "As of: 'soon' is no date"),
        (["receivables", "--input", str(NORTH), "--set", "x=1"], "takes no input named 'x'"),
        (["receivables", "--input", str(NORTH), "--set", "x"], "'x' is not NAME=VALUE."),
        (["receivables", "--input", str(NORTH), "--user", "nobody"], "There is nobody named 'nobody' here."),
    ],
)
@pytest.mark.usefixtures("operator")
def test_bad_words_get_one_sentence_and_start_nothing(words: list[str], sentence: str) -> None:
    with pytest.raises(CommandError) as refused:
        shell("start_run", *words)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not models.Run.objects.exists()


def test_without_anybody_it_says_what_to_do(transactional_db: None) -> None:
    with pytest.raises(CommandError, match="Nobody here may start runs yet"):
        shell("start_run", "receivables", "--input", str(NORTH))


def test_drain_and_audit_verify(operator: models.User) -> None:
    shell("start_run", "receivables", "--input", str(NORTH), "--set", "as_of=2026-11-27")
    assert shell("drain") == "1 slice run; nothing else is due.\n"
    assert shell("drain", "--until-idle") == "0 slices run; nothing else is due.\n"
    assert shell("audit_verify").startswith("Verified: 1 audit events")


def test_redrive_goes_on_from_a_checkpoint_with_another_input(operator: models.User) -> None:
    shell("start_run", "receivables", "--input", str(NORTH), "--set", "as_of=2026-11-27")
    old = go(models.Run.objects.get())
    words = [str(old.pk), "--checkpoint", "1", "--reason", "another day", "--set", "as_of=2026-11-28"]
    dry = shell("redrive", *words[:3], *words[5:], "--try-out")  # for which nobody has to say why
    printed = shell("redrive", *words)
    tried, new = models.Run.objects.exclude(pk=old.pk).order_by("pk")
    assert [dry, printed] == [f"{settings.PUBLIC_URL}/runs/{run.pk}/\n" for run in (tried, new)]
    assert (tried.mode, new.mode) == ("dry_run", "live")
    assert new.input == old.input | {"as_of": "2026-11-28"}
    shell("drain")
    old.refresh_from_db()
    new.refresh_from_db()
    assert (old.status, new.status) == ("cancelled", "waiting")
    assert shell("audit_verify").startswith("Verified:")


def test_separate_lists_first_and_begins_only_what_was_seen(operator: models.User) -> None:
    shell("start_run", "receivables", "--input", str(NORTH), "--set", "as_of=2026-11-27")
    old = go(models.Run.objects.get())
    words = [str(old.pk), "--checkpoint", "1", "--reason", "for the other house"]
    listed = shell("separate", *words)
    assert "None of this counts as done" in listed
    assert models.Run.objects.count() == 1
    with pytest.raises(CommandError, match="look at the list as it is now"):
        shell("separate", *words, "--seen", "another")
    printed = shell("separate", *words, "--seen", listed.split()[-1])
    new = models.Run.objects.exclude(pk=old.pk).get()
    assert printed == f"{settings.PUBLIC_URL}/runs/{new.pk}/\n"
    assert (new.root_id, new.mode) == (new.pk, "live")


def test_redrive_changes_instructions_limits_and_the_plan_and_says_what_becomes_of_effects(
    operator: models.User, reviewer: models.User, tmp_path: Path
) -> None:
    """Through the same doors as the page; one sentence for whatever doesn't fit, and then nothing is made."""
    shell("start_run", "receivables", "--input", str(NORTH), "--set", "as_of=2026-11-27")
    old = go(models.Run.objects.get())
    plan, broken = tmp_path / "plan.json", tmp_path / "broken.json"
    steps = [step.definition for step in standing.of(old)]
    (tmp_path / "same.json").write_text(json.dumps(steps))
    plan.write_text(json.dumps([*steps[:-1], {**steps[-1], "title": "Say how it went"}]))
    broken.write_text("[{]")
    (tmp_path / "bytes").write_bytes(b"\xff")
    again = [str(old.pk), "--checkpoint", str(old.checkpoint_number), "--reason", "another end"]
    for words, sentence in (
        (["7000", "--checkpoint", "1", "--reason", "x"], "There is no run 7000."),
        ([str(old.pk), "--checkpoint", "99", "--reason", "x"], "has no checkpoint 99; its newest is"),
        ([str(old.pk), "--checkpoint", "1", "--reason", " "], "Say why it goes on from there"),
        ([*again, "--set", "x=1"], "takes no input named 'x'"),
        ([*again, "--by", reviewer.username], "You may not go on from a checkpoint"),
        ([*again, "--raise", "money=2"], "There is no limit named 'money'; there are turns, calls,"),
        ([*again, "--raise", "turns=2.5"], "'turns=2.5': Say by how much the limit is raised"),
        ([*again, "--plan", "nothing.json"], "The file 'nothing.json' can't be read"),
        ([*again, "--plan", str(broken)], "This is not JSON"),
        ([*again, "--instructions", str(tmp_path / "bytes")], "isn't text in UTF-8"),
        ([*again, "--again", "9000"], "The effect 9000 isn't one of this lineage after that checkpoint."),
        ([*again, "--undo-first", "9000"], "The effect 9000 isn't one of this lineage"),
        ([*again, "--undo-first", "9", "--again", "9"], "The effect 9 can't be both"),
        ([*again, "--try-out", "--raise", "turns=1"], "don't go with --try-out"),
    ):
        with pytest.raises(CommandError) as refused:
            shell("redrive", *words)
        assert sentence in str(refused.value)
        assert "\n" not in str(refused.value)
        assert models.Run.objects.count() == 1
    limit = models.Account.objects.get(root=old.root_id, measure="steps").limit
    printed = shell("redrive", *again, "--plan", str(plan), "--raise", "turns=7")
    new = models.Run.objects.exclude(pk=old.pk).get()
    assert printed == f"{settings.PUBLIC_URL}/runs/{new.pk}/\n"
    assert (new.status, new.hold_by, new.plan_version) == ("queued", None, old.plan_version + 1)
    assert standing.of(new)[-1].definition["title"] == "Say how it went"
    assert models.Account.objects.get(root=old.root_id, measure="steps").limit == limit + 7
    with pytest.raises(
        CommandError, match=f"Nothing differs from the plan.* Run {new.pk + 1} is made and rests"
    ):
        shell("redrive", *again, "--plan", str(tmp_path / "same.json"))
    assert shell("audit_verify").startswith("Verified:")

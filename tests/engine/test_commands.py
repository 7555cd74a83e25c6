"""The shell: a run is started in one line, or one sentence says why not."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from runs import demo, models
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
            "There is no agent named 'receivable'. Known agents: receivables.",
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
    dry = shell("redrive", *words, "--try-out")
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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["7000", "--checkpoint", "1", "--reason", "x"], "There is no run 7000."),
        (["RUN", "--checkpoint", "99", "--reason", "x"], "has no checkpoint 99; its newest is"),
        (["RUN", "--checkpoint", "1", "--reason", " "], "Say why it goes on from there"),
        (["RUN", "--checkpoint", "1", "--reason", "x", "--set", "x=1"], "takes no input named 'x'"),
        (
            ["RUN", "--checkpoint", "1", "--reason", "x", "--by", "rita"],
            "You may not go on from a checkpoint",
        ),
    ],
)
def test_a_bad_redrive_gets_one_sentence(
    operator: models.User, reviewer: models.User, words: list[str], sentence: str
) -> None:
    shell("start_run", "receivables", "--input", str(NORTH), "--set", "as_of=2026-11-27")
    run = models.Run.objects.get()
    with pytest.raises(CommandError) as refused:
        shell("redrive", *(str(run.pk) if word == "RUN" else word for word in words))
    assert sentence in str(refused.value)
    assert models.Run.objects.count() == 1

"""One run as a file: the same bytes again, and no byte of its log can be changed unnoticed."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from runs import exact, models
from runs.engine import run_files
from tests.engine.conftest import go, step
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)


def said(*words: str) -> str:
    """Return what the command says."""
    out = io.StringIO()
    call_command("export_run", *words, stdout=out)
    return out.getvalue()


def test_a_run_is_written_read_without_the_database_and_proved(
    start: Callable[..., models.Run], operator: models.User, reviewer: models.User, tmp_path: Path
) -> None:
    """The whole path of a second attempt; each line that is changed, gone, moved or added is found."""
    old = through(start(step("lookup", "pay \u00e9\x00"), step("look", "b")), reviewer)
    run = through(redrive(old, checkpoint(old, "planned"), operator, input={"to": "Bob"}), reviewer)
    first, again = tmp_path / "first.jsonl", tmp_path / "again.jsonl"
    told = said(str(run.pk), str(first))
    assert told.startswith(f"Run {run.pk} “{run.title}”, succeeded: {run.position} lines, head {run.head}")
    said(str(run.pk), str(again))
    assert first.read_bytes() == again.read_bytes()
    assert said("--check", str(first)) == told
    lines = first.read_bytes().splitlines(keepends=True)
    about, *log = [exact.stored(line.decode()) for line in lines]
    stored = models.Entry.objects.filter(run__in=[holder for holder, _ in about["path"]])
    kept = {(line.run_id, line.position): line.content for line in stored}
    assert all(kept[line["run"], line["position"]] == line["content"] for line in log)
    assert {line["run"] for line in log} == {old.pk, run.pk}

    for place, line in enumerate(lines):
        for other in (
            [*lines[:place], *lines[place + 1 :]],
            [*lines[:place], line, *lines[place:]],
            [*lines[:place], line.replace(b'":', b'": ', 1), *lines[place + 1 :]],
        ):
            with pytest.raises(run_files.BadFile):
                run_files.check(other)
        if place:
            value = exact.stored(line.decode())
            value["content"] = {**value["content"], "more": 1}
            changed = f"{exact.text_of(value)}\n".encode()
            with pytest.raises(run_files.BadFile, match=f"Line {place + 1} was changed"):
                run_files.check([*lines[:place], changed, *lines[place + 1 :]])
    newer = f"{exact.text_of({**about, 'version': 2})}\n".encode()
    with pytest.raises(run_files.BadFile, match="version 2"):
        run_files.check([newer, *lines[1:]])
    lied = f"{exact.text_of({**about, 'status': 'failed'})}\n".encode()
    with pytest.raises(run_files.BadFile, match="said to be failed"):
        run_files.check([lied, *lines[1:]])


def test_it_is_written_over_nothing_and_a_run_that_waits_is_written_as_far_as_it_came(
    start: Callable[..., models.Run], tmp_path: Path
) -> None:
    """And what doesn't fit is refused in one sentence."""
    run, path = go(start(step("lookup", "pay"))), tmp_path / "run.jsonl"
    assert f", waiting: {run.position} lines" in said(str(run.pk), str(path))
    for words, why in (
        ([str(run.pk), str(path)], "exists"),
        ([str(run.pk + 1000), str(tmp_path / "none")], "There is no run"),
        ([], "Name a run"),
        ([str(run.pk), str(path), "--check", str(path)], "Name a run"),
    ):
        with pytest.raises(CommandError, match=why):
            said(*words)

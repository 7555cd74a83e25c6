"""A run's file read into a site: the same bytes again, whole or not at all, and nothing that could be carried out."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from runs import exact, models
from runs.engine import run_files, run_imports, verifier
from runs.models import dues
from runs.transitions import clock_time, refusals
from runs.transitions.actor import Actor
from tests import elsewhere, factories
from tests.core.tampering import unhindered
from tests.engine.conftest import step
from tests.pages.test_pages import text
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


@pytest.fixture
def admin(person: Callable[..., models.User]) -> models.User:
    """Whoever may import."""
    return person("ada", "admin")


def said(command: str, *words: str) -> str:
    """Return what the command says."""
    out = io.StringIO()
    call_command(command, *words, stdout=out)
    return out.getvalue()


def bring(content: bytes, by: models.User) -> models.ImportedRun:
    """Return the record of this file."""
    return run_imports.bring(io.BytesIO(content), source="run.jsonl", by=Actor(user=by, channel="shell"))


def test_a_run_comes_out_of_another_site_byte_for_byte_and_is_only_a_record(
    start: Start, operator: models.User, reviewer: models.User, tmp_path: Path
) -> None:
    """Exported, read into the emptied site and exported again; there it is no run, no effect and no work."""
    old = through(start(step("lookup", "pay \u00e9\x00"), step("look", "b")), reviewer)
    run = through(redrive(old, checkpoint(old, "planned"), operator, input={"to": "Bob"}), reviewer)
    first, again = tmp_path / "first.jsonl", tmp_path / "again.jsonl"
    said("export_run", str(run.pk), str(first))
    call_command("flush", interactive=False, verbosity=0, reset_sequences=False)  # numbers aren't given again
    factories.person("ada", "admin")
    told = said("import_run", str(first), "--by", "ada")
    record = models.ImportedRun.objects.get()
    assert told.startswith(
        f"Imported run {record.pk}: run {run.pk} “{run.title}”, succeeded: {run.position} lines"
    )
    said("export_run", "--imported", str(record.pk), str(again))
    assert first.read_bytes() == again.read_bytes()
    for model in (models.Run, models.Entry, models.Action, models.Occurrence, models.Review, models.Account):
        assert not model._default_manager.exists()
    assert not models.Run.objects.filter(dues.due(clock_time.now())).exists()
    event = models.AuditEvent.objects.get(act="run.imported")
    assert (event.subject, event.content["head"]) == (f"imported run {record.pk}", run.head)
    verifier.verify()
    with pytest.raises(CommandError, match=rf"here already: imported run {record.pk}, read on 20.* by ada"):
        said("import_run", str(first), "--by", "ada")
    with pytest.raises(CommandError, match="nobody named 'eve'"):
        said("import_run", str(first), "--by", "eve")


def test_what_was_not_written_so_is_refused_and_nothing_of_it_is_kept(
    start: Start,
    admin: models.User,
    operator: models.User,
    reviewer: models.User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the line: one that is changed, left out, cut off, too long, of another version, or says more than it may."""
    run = through(start(step("lookup", "pay")), reviewer)
    content = elsewhere.file(run)
    lines = content.splitlines(keepends=True)
    about, *log = [exact.parse(line.decode()) for line in lines]
    last = len(lines)
    for wrong, why in (
        (b"", "Line 1 is no line"),
        (b"".join([*lines[:3], *lines[4:]]), "Line 4 is not position 3"),
        (b"".join(lines[:-1]), f"The log ends at position {last - 2}, which is not where the run was"),
        (content[:-10], f"Line {last} is no line"),
        (content + lines[-1], f"Line {last + 1} is not position {last}"),
        (content.replace(b'"pay"', b'"pax"'), "was changed, or doesn't follow"),
        (elsewhere.written({**about, "version": 2}, *log), "has version 2; version 1 can be read"),
        (elsewhere.written({**about, "status": "failed"}, *log), "said to be failed"),
        (elsewhere.written({**about, "status": "lost"}, *log), "Line 1 says something"),
        (elsewhere.written({**about, "title": "x" * 201}, *log), "Line 1 says something"),
        (elsewhere.written({**about, "run": 7}, *log), "Line 1 names another run"),
        (elsewhere.written(about, {**log[0], "more": 1}, *log[1:]), "Line 2 says more than"),
        (elsewhere.written(about, {**log[0], "at": "2026-12-01T10:00:00"}, *log[1:]), "Line 2 says more"),
        (elsewhere.written(about, {**log[0], "at": "soon"}, *log[1:]), "Line 2 says something"),
        (elsewhere.written(about, {**log[0], "position": True}, *log[1:]), "Line 2 is not position 1"),
    ):
        with pytest.raises(run_files.BadFile, match=why):
            bring(wrong, admin)
    with monkeypatch.context() as patched:
        patched.setattr(run_imports, "MOST", max(map(len, lines)) - 1)
        with pytest.raises(run_files.BadFile, match=r"Line \d+ is longer than"):
            bring(content, admin)
    with pytest.raises(refusals.NotYours):
        bring(content, operator)
    with pytest.raises(refusals.Stale, match=f"it is run {run.pk} of this site"):
        bring(b"".join(run_files.written(run)), admin)
    assert not models.ImportedRun.objects.exists()
    assert not models.ImportedLine.objects.exists()
    assert b"".join(run_files.again(bring(content, admin))) == content


def test_a_record_that_is_changed_is_found(start: Start, admin: models.User, reviewer: models.User) -> None:
    """A line, its time, the title beside it, who brought it, the whole record."""
    record = bring(elsewhere.file(through(start(step("lookup", "pay")), reviewer)), admin)
    verifier.verify()
    lines = record.entries.order_by("position")
    for change in (
        lambda: lines.filter(position=2).update(created_at=clock_time.now()),
        lambda: lines.filter(position=2).update(content={"x": 1}),
        lambda: lines.filter(position=3).delete(),
        lambda: models.ImportedRun.objects.update(title="Other"),
        lambda: models.ImportedRun.objects.update(about={**record.about, "title": "Other"}),
        lambda: models.ImportedRun.objects.update(imported_by=reviewer),
        lambda: (lines.delete(), models.ImportedRun.objects.all().delete()),
    ):
        with unhindered():
            change()
            with pytest.raises(verifier.Broken, match="imported run"):
                verifier.verify()
    verifier.verify()


def test_a_reader_finds_it_and_reads_what_was_done_and_decided(
    admin: models.User, reviewer: models.User, operator: models.User
) -> None:
    run = through(factories.start(operator, step("lookup", "pay"), title="Pay the <b>bill</b>"), reviewer)
    record = bring(elsewhere.file(run), admin)
    client = Client()
    client.force_login(operator, backend="runs.forms.passwords.Backend")
    address = reverse("imported-run", args=[record.pk])
    for q in ("", "bill", f"#{record.number}", str(record.pk)):
        assert address in client.get(reverse("imported"), {"q": q}).content.decode(), q
    assert "Nothing matches" in text(client, f"{reverse('imported')}?q=zzz\x00")
    assert reverse("imported") in client.get(reverse("runs")).content.decode()
    told = text(client, address)
    for words in ("A record, not a run of this site.", "run.jsonl", "Pay the &lt;b&gt;bill&lt;/b&gt;"):
        assert words in told
    assert record.head in told
    assert f"line {record.lines}" in told
    assert "Approved" in text(client, f"{address}?only=decisions")
    effects = text(client, f"{address}?only=effects")
    assert "Started: Do pay" in effects
    assert "Did pay." in effects
    assert "Approved" not in effects
    whole = client.get(reverse("imported-line", args=[record.pk, 1]))
    assert whole["Content-Type"].startswith("text/plain")
    assert exact.digest_of(exact.parse(whole.content.decode())) == exact.digest_of(
        models.Entry.objects.get(run=run, position=1).content
    )
    assert client.get(reverse("imported-line", args=[record.pk, 9999])).status_code == 404

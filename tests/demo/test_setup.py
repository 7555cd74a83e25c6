"""`demo_setup`: six accounts, four runs, and nothing doubled the second time."""

import io

import pytest
from django.core import management

from runs import models
from runs.demo import setup
from runs.engine import advance
from tests.engine.conftest import answer

pytestmark = pytest.mark.django_db(transaction=True)


def run() -> str:
    out = io.StringIO()
    management.call_command("demo_setup", stdout=out)
    return out.getvalue()


def test_accounts_and_runs_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CKPTSITE_DEMO_PASSWORD", raising=False)
    first = run()
    password = first.partition("Password: ")[2].split()[0]
    assert len(password) >= 12
    roles = {user.username: set(user.roles()) for user in models.User.objects.all()}
    assert roles == {name: {role} for name, role, _, _ in setup.ACCOUNTS}
    assert models.User.objects.get(username="admin").is_staff
    assert models.Run.objects.count() == 4
    assert {started.created_by.username for started in models.Run.objects.select_related("created_by")} == {
        "operator"
    }

    monkeypatch.setenv("CKPTSITE_DEMO_PASSWORD", password)
    assert "passwords are unchanged" in run()
    monkeypatch.delenv("CKPTSITE_DEMO_PASSWORD")
    second = run()
    assert "passwords are unchanged" in second
    assert models.Run.objects.count() == 4
    assert models.User.objects.get(username="reviewer").check_password(password)


def test_a_given_password_is_set_also_for_accounts_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CKPTSITE_DEMO_PASSWORD", raising=False)
    run()
    monkeypatch.setenv("CKPTSITE_DEMO_PASSWORD", "a longer word")
    assert "Password: a longer word" in run()
    first, *others = models.User.objects.all()
    assert first.check_password("a longer word")
    assert all(other.password == first.password for other in others)  # one hash, checked once
    assert models.Run.objects.count() == 4


def test_a_person_who_was_taken_out_of_a_group_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CKPTSITE_DEMO_PASSWORD", "a longer word")
    run()
    models.User.objects.get(username="reviewer2").groups.clear()
    run()
    assert models.User.objects.get(username="reviewer2").roles() == frozenset()


def test_the_runs_hold_the_bytes_of_their_files() -> None:
    made = setup.everything("a longer word")
    for started, (file, title, as_of) in zip(made.runs[:-1], setup.RUNS, strict=True):
        assert started.title == title
        assert started.input["as_of"] == as_of
        kept = models.Blob.objects.get(sha256=started.input["file"]["sha256"])
        assert bytes(kept.content) == (setup.FOLDER / file).read_bytes()


def test_what_a_strangers_letter_has_told_the_agent_to_send_waits_for_a_person() -> None:
    run = setup.everything("a longer word").runs[-1]
    advance.advance(run.pk)
    asked = models.Review.objects.filter(run=run, status="open").order_by("pk")
    assert [review.action.arguments()["to"] for review in asked if review.action] == [
        "archive@open-items.example",
        "billing.yarrow@example.com",
    ]
    reviewer = models.User.objects.get(username="reviewer")
    answer(asked[0], reviewer, "reject")
    answer(asked[1], reviewer, "approve")
    advance.advance(run.pk)
    run.refresh_from_db()
    assert run.status == "succeeded"
    assert models.Occurrence.objects.filter(root=run).count() == 1

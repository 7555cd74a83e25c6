"""A request is carried out once, whatever is repeated, lost, or dies in between."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from runs import models
from runs.api import acts
from runs.transitions import api_calls, marking
from runs.transitions.actor import Actor
from runs.transitions.refusals import Stale
from tests import factories
from tests.api.conftest import Give, Program
from tests.engine.conftest import step

pytestmark = pytest.mark.django_db(transaction=True)


class Died(BaseException):
    """The server's process ended here."""


def calls() -> list[tuple[str, bool, int | None]]:
    """Return every key with what became of it."""
    return list(models.ApiCall.objects.order_by("pk").values_list("key", "done", "code"))


def grow_old(key: str, by: timedelta) -> None:
    """Let time pass for one key."""
    models.ApiCall.objects.filter(key=key).update(claimed_at=timezone.now() - by)


def test_keys_as_the_draft_says(who: factories.People, give: Give) -> None:
    run = factories.start(who.operator, step("lookup", "mail"))
    program = give(who.operator)
    place = f"runs/{run.pk}/pause"
    missing = program.post(place, {"reason": "Wait."}, **{"Idempotency-Key": ""})
    assert (missing.status_code, missing.json()["type"]) == (
        400,
        "urn:ckptsite:problem:idempotency-key-missing",
    )
    assert program.post(place, key="x" * 256).status_code == 400
    done = program.post(place, {"reason": "Wait."}, key="wait")
    assert (done.status_code, done.json()["paused"]) == (200, {"by": "operator-1", "reason": "Wait."})
    assert "Idempotency-Replayed" not in done
    again = program.post(
        place, {"reason": "Wait."}, key='"wait"'
    )  # the draft writes a key as a quoted string
    assert (again.status_code, again.content, again["Idempotency-Replayed"]) == (200, done.content, "true")
    other = program.post(place, {"reason": "Now."}, key="wait")
    assert (other.status_code, other.json()["type"]) == (422, "urn:ckptsite:problem:idempotency-key-reused")
    assert program.post(f"runs/{run.pk}/stop", {"reason": "Wait."}, key="wait").status_code == 422
    # What was refused did nothing, so its key is free for what is right.
    assert program.post(place, {"reason": "Wait."}, key="two").status_code == 409
    assert program.post(f"runs/{run.pk}/resume", key="two").status_code == 200
    # Keys are each token's own.
    assert (
        give(who.reviewer).post(place, {"reason": "Look."}, key="wait").json()["paused"]["by"] == "reviewer-1"
    )
    assert models.AuditEvent.objects.filter(act="run.paused").count() == 2


def test_died_before_and_after_the_commit(
    who: factories.People, give: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = factories.start(who.operator, step("lookup", "mail"))
    program = give(who.operator)

    def repeated() -> Any:
        return program.post(f"runs/{run.pk}/stop", {"reason": "No."}, key="stop")

    def dies(*_: object, **__: object) -> None:
        raise Died

    # Before anything was committed: the claim stands, and a repetition waits until nobody can be at work on it.
    with monkeypatch.context() as broken:
        broken.setattr(marking, "done", dies)
        broken.setattr(api_calls, "release", dies)
        with pytest.raises(Died):
            repeated()
    assert calls() == [("stop", False, None)]
    waits = repeated()
    assert (waits.status_code, waits["Retry-After"]) == (409, "1")
    assert waits.json()["type"] == "urn:ckptsite:problem:in-flight"
    grow_old("stop", api_calls.IN_FLIGHT)
    # After the commit and before the answer was stored: what was done is known, and the answer is made again.
    with monkeypatch.context() as broken:
        broken.setattr(api_calls, "keep", dies)
        with pytest.raises(Died):
            repeated()
    assert calls() == [("stop", True, None)]
    answer = repeated()
    assert (answer.status_code, answer.json()["stop_asked"]["reason"]) == (200, "No.")
    assert answer["Idempotency-Replayed"] == "true"
    assert repeated().content == answer.content
    assert models.AuditEvent.objects.filter(act="run.stop_asked").count() == 1

    # One that was slow, not dead: it commits nothing once a repetition has taken its claim over.
    assert program.token is not None
    slow = api_calls.claim(program.token, key="slow", request="0" * 64)
    grow_old("slow", api_calls.IN_FLIGHT)
    assert api_calls.claim(program.token, key="slow", request="0" * 64).attempt == 2
    with pytest.raises(Stale):
        marking.done(Actor(user=who.operator, token=program.token, call=slow), run)

    grow_old("stop", api_calls.KEPT)
    assert api_calls.forget() == 1
    assert calls() == [("slow", False, None)]
    assert api_calls.forget() == 0


def test_a_start_is_never_done_twice(who: factories.People, give: Give) -> None:
    """Also at once, and after its key was forgotten (CORRECTNESS 1.16)."""
    agent = factories.start(who.operator, step("look", "it")).agent_version.agent.name
    program = give(who.operator, kind="service")
    found: list[tuple[int, Any]] = []

    def start() -> None:
        mine = Program(program.token, program.secret)
        answer = mine.post("runs", {"agent": agent, "title": "Once"}, key="start")
        found.append((answer.status_code, answer.json()))
        connection.close()

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert {code for code, _ in found} <= {201, 409}
    (number,) = models.Run.objects.filter(title="Once").values_list("pk", flat=True)
    assert {body["id"] for code, body in found if code == 201} == {number}
    grow_old("start", api_calls.KEPT)
    api_calls.forget()
    late = program.post("runs", {"agent": agent, "title": "Once"}, key="start")
    assert (late.status_code, late.json()["id"]) == (201, number)
    assert models.Run.objects.filter(title="Once").count() == 1
    assert acts.REPLAYED not in late

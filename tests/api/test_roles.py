"""Every operation for every role and kind of token, taken from the document; and what goes wrong, as problems."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from runs import models
from runs.selectors import records
from tests import factories
from tests.api.conftest import Give
from tests.engine.conftest import only_review

pytestmark = pytest.mark.django_db(transaction=True)

SEEING = ("viewer", "reviewer", "operator", "admin", "auditor")
ACTS: dict[str, tuple[set[str], set[str], int]] = {
    "start_run": ({"operator", "admin"}, {"operator", "admin"}, 422),
    "pause_run": ({"operator", "reviewer", "admin"}, {"operator", "reviewer", "admin"}, 409),
    "resume_run": ({"operator", "admin"}, set(), 409),
    "stop_run": ({"operator", "reviewer", "admin"}, {"operator", "reviewer", "admin"}, 422),
    "redrive_run": ({"operator", "admin"}, set(), 422),
    "decide_review": ({"reviewer", "admin"}, set(), 409),
}
"""Who may, with a token of their own and with a program's, and what comes of it for them: nothing that lasts."""
BODIES: dict[str, dict[str, Any]] = {
    "start_run": {"agent": "nobody"},
    "redrive_run": {"checkpoint": 900, "reason": "x"},
    "decide_review": {"verdict": "approve", "revision": 9, "digest": "0" * 64, "reason": "x"},
}


def operations() -> list[tuple[str, str, str]]:
    """Return method, path and name of every operation that ends."""
    document = Client().get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    return [
        (method, path.removeprefix("/api/v1/"), operation["operationId"])
        for path, found in document["paths"].items()
        for method, operation in found.items()
        if operation["operationId"] != "stream_changes"
    ]


def problem(answer: Any, status: int) -> dict[str, Any]:
    """Return the problem document that the answer is."""
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), (
        answer.content
    )
    assert "no-store" in answer["Cache-Control"]
    told: dict[str, Any] = json.loads(answer.content)
    assert (told["status"], bool(told["title"] and told["detail"] and told["type"])) == (status, True)
    return told


def test_every_operation_for_every_role(who: factories.People, house: factories.House, give: Give) -> None:
    review = only_review(house.asked)
    paths = operations()
    assert {name for method, _, name in paths if method == "post"} == set(ACTS)
    for kind in ("person", "agent"):
        for role in (*SEEING, "nobody"):
            user = who.named(role)
            if role == "nobody":  # no right, no token: they had a group when they made it
                user.groups.set(who.admin.groups.all())
            program = give(user, kind=kind)
            user.groups.set([] if role == "nobody" else user.groups.all())
            stopped = {"stop_run", "pause_run"}
            for method, path, name in paths:
                if method == "get" and kind == "agent" and role != "viewer":
                    continue  # reading is the same for both kinds
                run = house.stopped if name in stopped else house.asked
                place = path.format(run_id=run.pk, review_id=review.pk)
                answer = program.get(place) if method == "get" else program.post(place, BODIES.get(name, {}))
                people, programs, code = ACTS.get(name, (set(SEEING), set(SEEING), 200))
                may = people if kind == "person" else programs
                wanted = 404 if role == "nobody" else code if role in may else 403
                assert answer.status_code == wanted, (kind, role, name, answer.content)
                if wanted != 200:
                    problem(answer, wanted)
    for method, path, name in paths:
        place = path.format(run_id=987_654, review_id=987_654)
        if place != path:  # what isn't there is 404 for everybody, before any 403
            program = give(who.viewer, kind="agent")
            answer = program.get(place) if method == "get" else program.post(place, BODIES.get(name, {}))
            problem(answer, 404)
        problem(getattr(Client(), method)(f"/api/v1/{place}"), 401)


def test_what_goes_wrong_is_a_problem_never_a_page(
    who: factories.People, house: factories.House, give: Give, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    program = give(who.admin)
    place = f"runs/{house.asked.pk}"
    for path in ("", "nothing/", "runs/x", f"runs/{10**30}", "runs/1/nothing"):
        problem(program.get(path), 404)
    assert problem(program.client.delete(f"/api/v1/{place}", headers=program.headers()), 405)
    assert (
        program.client.options(
            f"/api/v1/{place}", headers={"Origin": "https://elsewhere.example"}
        ).headers.get("Access-Control-Allow-Origin")
        is None
    )
    problem(program.post(f"{place}/pause", b'{"reason": "a", "reason": "b"}'), 400)
    problem(program.post(f"{place}/pause", b"\xff"), 400)
    problem(program.post(f"{place}/pause", b"[NaN]"), 400)
    form = {**program.headers(), "Idempotency-Key": "form"}
    problem(program.client.post(f"/api/v1/{place}/pause", {"reason": "x"}, headers=form), 415)
    large = {**form, "Content-Length": "99999999"}
    problem(program.client.post(f"/api/v1/{place}/pause", "{}", "application/json", headers=large), 413)
    told = problem(program.post(f"{place}/redrive", {"checkpoint": "x", "a/b": 1}), 422)
    assert {fault["pointer"] for fault in told["errors"]} == {"#/checkpoint", "#/reason", "#/a~1b"}
    told = problem(program.post("runs", {"agent": "receivables", "input": {"as_of": "soon"}}), 422)
    assert told["errors"][0]["pointer"] in {"#/input/as_of", "#/input/file"}
    file = {"name": "a.csv", "content": "%%%"}
    told = problem(program.post("runs", {"agent": "receivables", "files": {"file": file}}), 422)
    assert told["errors"][0]["pointer"] == "#/files/file/content"
    told = problem(program.get("runs", cursor="1 or 1=1"), 422)
    assert told["errors"] == [{"detail": told["errors"][0]["detail"], "parameter": "cursor"}]

    def away(*_: object, **__: object) -> None:
        raise OperationalError("secret detail")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    program.client.raise_request_exception = False
    for fault, status in ((away, 503), (broken, 500)):
        with monkeypatch.context() as patched:
            patched.setattr(records, "run", fault)
            answer = program.get(place)
        assert "secret" not in json.dumps(problem(answer, status))
        assert ("Retry-After" in answer) == (status == 503)

    settings.CKPTSITE_API_RATE = 3
    busy = give(who.viewer)
    codes = [busy.get("me").status_code for _ in range(5)]
    assert codes in ([200, 200, 200, 429, 429], [200] * 5)  # a minute may have ended in between
    slow = busy.get("me")
    if slow.status_code == 429:
        assert 1 <= int(slow["Retry-After"]) <= 60
        problem(slow, 429)
    assert give(who.auditor).get("me").status_code == 200  # each token has its own


def test_lists_are_whole_and_paged_by_key(who: factories.People, house: factories.House, give: Give) -> None:
    program = give(who.viewer)

    def every(path: str, **params: Any) -> list[int]:
        found: list[int] = []
        page = program.get(path, limit=2, **params).json()
        while True:
            found += [item.get("id", item.get("position")) for item in page["items"]]
            if not page["next"] or not page["items"]:
                return found
            assert page["next"].startswith("http")
            page = program.get(page["next"].partition("/api/v1/")[2]).json()

    assert every("runs") == sorted((run.pk for run in house.runs), reverse=True)
    assert every("runs", only="failed") == [house.failed.pk]
    assert every("runs", agent=house.done.agent_version.agent.name) == [house.done.pk]
    asked = models.Review.objects.filter(status="open")
    assert every("reviews") == list(asked.order_by("due_at", "pk").values_list("pk", flat=True))
    closed = models.Review.objects.exclude(status="open").order_by("-pk")
    assert every("reviews", status="closed") == list(closed.values_list("pk", flat=True))
    assert every("reviews", run=house.final.pk) == [only_review(house.final).pk]
    lines = list(house.done.entries.order_by("position").values_list("position", flat=True))
    assert every(f"runs/{house.done.pk}/log") == lines
    (effect,) = program.get(f"runs/{house.done.pk}/effects").json()["items"]
    assert (effect["state"], effect["run"], effect["tool"]) == ("standing", house.done.pk, "world.lookup")
    first = program.get(f"runs/{house.done.pk}/log", limit=1).json()["items"][0]
    entry = house.done.entries.get(position=first["position"])
    assert (first["content"], first["head"]) == (entry.content, entry.head)

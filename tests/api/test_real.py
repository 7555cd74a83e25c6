"""The same over the real server: bodies as uvicorn gives them, and the stream as a program reads it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from runs import models
from tests import factories
from tests.api.conftest import Give, Program
from tests.api.test_path import invoices

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def asked(server: str, program: Program, path: str, body: Any = None, key: str = "") -> Iterator[Any]:
    """Give the open answer of the server."""
    headers = {**program.headers(), **({"Idempotency-Key": key} if key else {})}
    if body is not None:
        headers["Content-Type"] = "application/json"
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server}/api/v1/{path}", data=sent, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            yield answer
    except urllib.error.HTTPError as error:
        yield error


def test_start_follow_and_stop_over_the_real_server(
    who: factories.People, give: Give, asgi_server: str
) -> None:
    agent, nobody = give(who.operator, kind="agent"), Program(None, "ckpt_forged")
    with asked(asgi_server, agent, "runs", invoices(), "one") as answer:
        started = json.load(answer)
        assert (answer.status, started["status"]) == (201, "queued")
    with asked(asgi_server, agent, "runs", invoices(), "one") as answer:
        assert (answer.status, json.load(answer)["id"]) == (201, started["id"])
    with asked(asgi_server, agent, f"events?t=run-{started['id']}&t=inbox") as stream:
        assert (stream.status, stream.headers["Content-Type"]) == (200, "text/event-stream")
        assert [stream.readline(), stream.readline(), stream.readline()] == [
            b"event: resync\n",
            b"data: {}\n",
            b"\n",
        ]
        with asked(asgi_server, agent, f"runs/{started['id']}/stop", {"reason": "No."}, "two") as answer:
            assert json.load(answer)["stop_asked"] == {"by": "operator-1", "reason": "No."}
        heard = [stream.readline()]  # of the list of what waits it may be told before
        while heard[-1] != f"event: run-{started['id']}\n".encode():
            assert len(heard) < 30, heard
            heard.append(stream.readline())
    for path, body, status in (("events", None, 401), ("runs", {}, 401), ("nothing", None, 404)):
        with asked(asgi_server, nobody, path, body, "x") as answer:
            assert (answer.status, answer.headers["Content-Type"]) == (status, "application/problem+json")
            assert json.load(answer)["status"] == status
    told = models.AuditEvent.objects.filter(channel="api").order_by("seq").values_list("act", "on_behalf_of")
    assert list(told) == [("run.started", who.operator.pk), ("run.stop_asked", who.operator.pk)]

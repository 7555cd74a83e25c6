"""Traces: what a real receiver gets of a run, what it must not get, and that no step waits for it."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ckptsite import env, traces
from runs import lifecycle, models
from runs.engine import worker
from runs.providers import replay
from runs.transitions import decisions
from runs.transitions.actor import Actor
from tests.bench import payloads, recordings, tools

ON = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Receiver(http.server.ThreadingHTTPServer):
    """A collector that speaks OTLP over HTTP; a hanging one takes a request and never answers."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.raw = b""
        self.hangs = False
        self.over = threading.Event()

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the spans of this name, as they came."""
        return [span for span in self.spans if span["name"] == name]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.hangs:
            self.server.over.wait(30)
            return
        assert self.path == "/v1/traces"
        self.server.raw += body
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.server.resources.append(_plain(group.resource.attributes))
            self.server.spans += [_as_data(span) for scope in group.scope_spans for span in scope.spans]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _as_data(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "kind": span.kind,
        "trace": span.trace_id,
        "id": span.span_id,
        "above": span.parent_span_id,
        "links": [link.span_id for link in span.links],
        "events": {event.name: _plain(event.attributes) for event in span.events},
        "seconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        **_plain(span.attributes),
    }


def _plain(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A collector that this process sends to."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv(ON, f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(settings, "CKPTSITE_TRACES", traces.configure(role="worker"))
        monkeypatch.setattr(traces, "TIMEOUT", 0.5)
        yield server
        traces.end()
        server.over.set()
        server.shutdown()
        thread.join()


@pytest.mark.django_db(transaction=True)
def test_a_run_is_one_trace_of_slices_and_its_waits_are_events(receiver: Receiver) -> None:
    kinds: list[type[tools.Named]] = [tools.Look, tools.Send]
    with mock.patch.object(replay.Replay, "local", False):
        run = recordings.start([recordings._reply([kind], number) for number, kind in enumerate(kinds)])
        worker.drain(until_idle=False)
        run.refresh_from_db()
        assert run.status == lifecycle.Run.WAITING
        approve(models.Review.objects.get(run=run))
        time.sleep(0.2)
        worker.drain(until_idle=True)
    run.refresh_from_db()
    assert run.status == lifecycle.Run.SUCCEEDED
    traces.end()
    agent = run.agent_version.agent.name
    slices = sorted(receiver.named(f"invoke_agent {agent}"), key=lambda span: span["ckptsite.fence"])
    assert [span["ckptsite.fence"] for span in slices] == list(range(1, run.fence + 1))
    assert {span["trace"] for span in receiver.spans} == {slices[0]["trace"]}, "all of it is one trace"
    assert {span["above"] for span in slices} == {b""}
    links = [span["links"] for span in slices]
    assert links == [[], *([before["id"]] for before in slices[:-1])]
    assert slices[0]["events"]["rests"] == {"ckptsite.status": "waiting", "ckptsite.reason": "review"}
    waited = slices[1]["events"]["waited"]
    assert waited["ckptsite.seconds"] >= 0.2
    assert waited["ckptsite.due"]
    assert sum(span["seconds"] for span in slices) < waited["ckptsite.seconds"] + 20
    for span in slices:
        assert span["gen_ai.operation.name"] == "invoke_agent"
        assert (span["gen_ai.agent.name"], span["gen_ai.conversation.id"]) == (agent, str(run.pk))
    here = {span["id"] for span in slices}
    asked = [span for span in receiver.spans if span["name"].startswith("chat")]
    assert len(asked) == 3
    assert {span["gen_ai.usage.input_tokens"] for span in asked} == {1200, 0}
    (read,) = receiver.named("execute_tool bench.look")
    (sent,) = receiver.named("execute_tool bench.send")
    assert {span["above"] for span in [*asked, read, sent]} <= here
    assert sent["above"] == slices[-1]["id"]
    action = models.Action.objects.get(run=run)
    assert sent["gen_ai.tool.call.id"] == f"{run.pk}-{action.reply_position}-{action.call_index}"
    assert (sent["ckptsite.attempt"], sent["ckptsite.effect"]) == (1, "irreversible")
    assert {(one["service.name"], one["ckptsite.role"]) for one in receiver.resources} == {
        ("ckptsite", "worker")
    }
    assert b"item 1" not in receiver.raw
    assert payloads.payload("item 1").encode() not in receiver.raw


def approve(review: models.Review) -> None:
    answer = decisions.Answer(
        verdict=decisions.APPROVE,
        revision=review.revision,
        digest=review.digest,
        evidence_number=review.evidence_number,
        token="traced",
        reason="Checked.",
    )
    decisions.decide(review.pk, answer, by=Actor(user=recordings.person("reviewer")))


def test_a_request_is_told_by_the_pattern_of_its_address(receiver: Receiver, client: Client) -> None:
    answer = client.get("/healthz?name=Fern", headers={"X-Request-ID": "from-outside"})
    client.get("/nowhere/Fern/")
    traces.end()
    first, second = receiver.spans
    assert (first["name"], first["http.response.status_code"]) == ("GET /healthz", answer.status_code)
    assert (first["kind"], first["ckptsite.request"]) == (2, "from-outside")
    assert (second["name"], second["http.response.status_code"]) == ("GET", 404)
    assert b"Fern" not in receiver.raw


def test_an_error_is_told_by_its_kind_only(receiver: Receiver) -> None:
    with pytest.raises(LookupError), traces.span("look", {}):
        raise LookupError("Fern Works owes 12.50")
    traces.end()
    assert receiver.spans[0]["error.type"] == "LookupError"
    assert b"Fern" not in receiver.raw


def test_no_step_waits_for_a_collector_that_hangs(receiver: Receiver) -> None:
    receiver.hangs = True
    began = time.monotonic()
    for number in range(3_000):  # more than are kept
        with traces.span("step", {"number": number}):
            pass
    assert time.monotonic() - began < 2.0
    began = time.monotonic()
    traces.end()
    assert time.monotonic() - began < 2 * traces.TIMEOUT + 1.0


LOADED = """
import sys, django
django.setup()
from runs.engine import tracing, worker
from ckptsite import celery, request_ids, traces
with traces.span("nothing", {}) as span:
    span.set({"number": 1})
traces.end()
print(sorted(name for name in sys.modules if name.startswith(("opentelemetry.sdk.trace", "opentelemetry.exporter"))))
"""


def test_without_an_endpoint_nothing_of_it_is_loaded() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "ckptsite.settings"}
    environment.pop(ON, None)
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"


def test_what_can_not_be_sent_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ON, "http://127.0.0.1:4317")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(env.EnvError, match="'http/protobuf' only"):
        traces.configure(role="web")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(env.EnvError, match=r"install ckptsite\[otel\]"):
        traces.configure(role="web")

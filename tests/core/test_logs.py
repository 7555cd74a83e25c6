"""What the logs say about a failure: where it was, never what the variables held."""

from __future__ import annotations

import ast
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import structlog
from django.conf import settings

from ckptsite import logs
from ckptsite.services import children
from runs import models
from runs.engine import heartbeat
from runs.transitions import steps
from tests import waiting
from tests.bench import hotpath

NAMES = {"run", "action", "tool", "attempt", "error", "why", "path", "pid", "fence", "query", "act", "hint",
         "delivery", "channel", "verification", "rehearsal"}  # fmt: skip
"""What a line may carry beside what `logs.about` gives it: ids, kinds, and why."""
FAILS = """
import django
django.setup()
import structlog

def deliver(letter):
    raise ConnectionError("the line is dead")

try:
    deliver("Dear " + "Fern Works")
except ConnectionError:
    structlog.get_logger("runs.test").exception("not_delivered", action=7)
"""
QUOTES = """
import django
django.setup()
import logging, threading, contextvars
from ckptsite import logs

def store():
    try:
        raise KeyError("no such row\\nDETAIL: Failing row contains (" + "Fern Works)")
    except KeyError as error:
        raise ValueError("it doesn't fit\\nDETAIL: Failing row contains (" + "Fern Works)") from error

def beside():
    import structlog
    structlog.get_logger("runs.test").warning("beside", error="first\\nFern " + "Works")

with logs.about(run=3, fence=9):
    try:
        store()
    except ValueError:
        logging.getLogger("somebody.else").warning("Not Found: /join/Fern" + "Works/ after /setup/Fern" + "Works/")
        logging.getLogger("somebody.else").exception(
            "it broke", extra={"request": "/runs/?q=Fern" + " Works", "data": {"args": "Fern" + " Works"}})
    thread = threading.Thread(target=contextvars.copy_context().run, args=[beside])
    thread.start()
    thread.join()
logging.getLogger("httpx").info("HTTP Request: GET https://example.org/?name=Fern" + "Works")
"""


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_names_the_place_and_no_values(form: str) -> None:
    said = played(FAILS, form)
    for word in ("not_delivered", "ConnectionError", "the line is dead", "deliver", "action"):
        assert word in said
    assert "Fern Works" not in said


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_line_tells_what_it_is_about_and_not_what_with(form: str) -> None:
    """What PostgreSQL quotes of a row, what a library hands on of a request, whole addresses: none of it."""
    said = played(QUOTES, form)
    assert "Fern" not in said
    assert "KeyError" in said
    assert "Not Found: /join/.../ after /setup/.../" in said
    assert ("it doesn't fit" in said) is (form == "console")
    if form == "json":
        _found, broke, beside = [json.loads(line) for line in said.splitlines()]
        assert [found["type"] for found in broke["exception"]] == ["ValueError", "KeyError"]
        assert broke["exception"][0]["frames"][-1].endswith("store")
        for line in (broke, beside):
            assert (line["run"], line["fence"]) == (3, 9)
            assert {"event", "level", "logger", "timestamp", "role"} <= set(line)
        assert beside["error"] == "first"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What is logged meanwhile, as it leaves."""
    made = logs.configure(form="json", level="INFO", role="worker")["formatters"]["lines"]
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=made["processors"], foreign_pre_chain=made["foreign_pre_chain"]
        )
    )
    told, root = logging.getLogger("runs"), logging.getLogger()
    level = told.level
    told.setLevel("INFO")
    root.addHandler(handler)
    try:
        yield handler.stream
    finally:
        root.removeHandler(handler)
        told.setLevel(level)


@pytest.mark.django_db(transaction=True)
def test_what_the_engine_says_names_run_fence_and_action(written: io.StringIO) -> None:
    run = hotpath.effects(2).run
    begun = [line for line in map(json.loads, written.getvalue().splitlines()) if line["event"] == "intent"]
    actions = set(models.Action.objects.filter(run=run).values_list("pk", flat=True))
    assert {line["action"] for line in begun} == actions
    assert {(line["run"], line["fence"], line["role"]) for line in begun} == {(run.pk, run.fence, "worker")}
    assert "item 1" not in written.getvalue()


def test_so_does_the_heartbeat_beside_it(written: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> bool:
        raise OSError("the server is away")

    monkeypatch.setattr(steps, "renew", away)
    monkeypatch.setitem(settings.CKPTSITE, "HEARTBEAT", 0.01)
    with logs.about(run=5, fence=2), heartbeat.beating(steps.Claim(run_id=5, fence=2)) as beat:
        waiting.until(lambda: beat.lost, within=10, what="the heartbeat to give up")
    (line,) = [json.loads(line) for line in written.getvalue().splitlines()]
    assert (line["event"], line["run"], line["fence"]) == ("heartbeat_lost", 5, 2)


def test_lines_use_the_same_names_everywhere() -> None:
    for path in [
        *(children.BASE_DIR / "runs").rglob("*.py"),
        *(children.BASE_DIR / "ckptsite").rglob("*.py"),
    ]:
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "log" and call.args:
                if call.func.attr not in {"debug", "info", "warning", "error", "exception"}:
                    continue
                what = call.args[0]
                assert isinstance(what, ast.Constant), f"{path}:{call.lineno}"
                assert str(what.value).replace("_", "").isalpha(), f"{path}:{call.lineno}"
                assert {word.arg for word in call.keywords} <= NAMES, f"{path}:{call.lineno}"


def played(program: str, form: str) -> str:
    """Return what this program writes to stderr."""
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "ckptsite.settings",
            "LOG_FORMAT": form,
            "LOG_LEVEL": "INFO",
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert found.stdout == ""
    return found.stderr

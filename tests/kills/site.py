"""Servers, worker and clock of a test's own, which may be killed, and the people who answer what they ask."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection
from django.utils import timezone

from ckptsite.services import children, postgres, processes, valkey
from ckptsite.services import folder as folders
from runs import models, seed
from runs.providers import declared
from runs.transitions import decisions, refusals, starts
from runs.transitions.actor import Actor
from tests import waiting
from tests.kills import gates, tools

_numbers = itertools.count(1)
CSV = """invoice_no,customer,email,amount,currency,due_date,reminders_sent
M-{n},Maple Tools,pay@maple.example.com,100.00,EUR,2026-11-10,0
F-{n},Fern Works,pay@fern.example.com,900.00,EUR,2026-08-01,3
"""
WIRE = declared.Agent(
    name="wire",
    title="Send a line",
    provider="playbook",
    tools=(tools.Wire.name,),
    input_schema={"type": "object", "properties": {}},
    definition={
        "steps": [
            {"id": "send", "title": "Send", "tool": tools.Wire.name, "with": {"text": "${input.text}"}},
            {"id": "end", "title": "End", "finish": {"summary": "Done."}},
        ]
    },
)
READ = dataclasses.replace(
    WIRE,
    name="read",
    title="Read a line",
    tools=(tools.Read.name,),
    definition={
        "steps": [
            {"id": "read", "title": "Read", "tool": tools.Read.name, "with": {"text": "${input.text}"}},
            {"id": "end", "title": "End", "finish": {"summary": "Done."}},
        ]
    },
)


class Site:
    """One data folder with everything that runs on it."""

    def __init__(self, root: Path) -> None:
        self.folder = folders.Folder(root)
        folders.make(self.folder)
        self.database_url = self.folder.database_url
        self.gates = root / "gates"
        self.gates.mkdir(exist_ok=True)
        self.running: dict[str, tuple[subprocess.Popen[bytes], processes.Program]] = {}

    def programs(self, name: str) -> processes.Program:
        """The program of this name, as `up` would start it."""
        if name == "postgres":  # commits are kept here, unlike in the session's own server
            return postgres.program(self.folder, say=lambda _line: None)
        if name == "valkey":
            return valkey.program(self.folder)
        setting = children.Setting(
            folder=self.folder,
            database_url=self.database_url,
            redis_url=self.folder.redis_url,
            port=8000,
            listener=-1,
        )
        program = {"worker": children.worker, "clock": children.clock}[name](setting)
        command = ["12" if part == "2" else part for part in program.command]
        environment = {**program.environment, **self.ours()}
        return dataclasses.replace(program, command=tuple(command), environment=environment)

    def ours(self) -> dict[str, str]:
        """What a process of this site is told beside what `up` would tell it."""
        return {
            "DJANGO_SETTINGS_MODULE": "tests.kills.settings",
            "CKPTSITE_KEY_HMAC": settings.KEY_HMAC.decode(),
            "CKPTSITE_AUDIT_HMAC": settings.AUDIT_HMAC.decode(),
            gates.FOLDER: str(self.gates),
        }

    def manage(self, *arguments: str) -> tuple[int, str]:
        """Run a management command on the site's database; its exit code and all that it says."""
        given = {"CKPTSITE_DATA": str(self.folder.root), "DATABASE_URL": self.database_url, **self.ours()}
        done = subprocess.run(
            [sys.executable, str(children.BASE_DIR / "manage.py"), *arguments],
            env={**os.environ, **given},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def start(self, *names: str) -> None:
        """Start these, all at once, and wait until those that say so are ready."""
        for name in names:
            if name == "worker":
                self.folder.worker_ready.unlink(missing_ok=True)
            program = self.programs(name)
            self.running[name] = (processes.start(program), program)
        ready = {
            "postgres": lambda: postgres.answers(self.folder.database_url),
            "valkey": lambda: valkey.answers(self.folder),
            "worker": self.folder.worker_ready.exists,
        }
        for name in names:
            if name in ready:
                waiting.until(ready[name], within=30, what=name)

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send the signal to the process and all that it forked, and wait until it is gone."""
        process, _ = self.running.pop(name)
        os.killpg(process.pid, number)
        process.wait(20)
        waiting.until(lambda: not processes.session_lives(process.pid))

    def signal(self, name: str, number: int) -> None:
        """Send a signal that doesn't end it."""
        self.running[name][0].send_signal(number)

    def stop(self) -> None:
        """End whatever still runs, the servers last."""
        for name in sorted(self.running, key=["worker", "clock", "valkey", "postgres"].index):
            process, program = self.running[name]
            process.send_signal(signal.SIGCONT)
            if name in {"worker", "clock"}:
                processes.end_session(process.pid)
            processes.stop(process, program, within=10)
        self.running.clear()

    def arm(self, run: models.Run, point: str) -> None:
        """Let the next worker that comes to this point with this run wait there."""
        gates.armed(self.gates, run.pk, point).touch()

    def waits_at(self, run: models.Run, point: str) -> bool:
        """Return whether a worker stands at the gate."""
        return gates.reached(self.gates, run.pk, point).exists()

    def open(self) -> None:
        """Let everybody through."""
        for path in self.gates.iterdir():
            path.unlink()

    def reads(self, run: models.Run) -> bool:
        """Return whether the read of a run has begun."""
        return (self.folder.root / f"reading {run.input['text']}").exists()

    # What people see from outside.

    def letters(self) -> int:
        return len(list(self.folder.mail.glob("*.eml")))

    def fees(self) -> list[str]:
        with contextlib.closing(sqlite3.connect(self.folder.ledger)) as ledger:
            try:
                return [row[0] for row in ledger.execute("SELECT invoice_no FROM late_fee ORDER BY id")]
            except sqlite3.OperationalError:
                return []

    def lines(self) -> list[str]:
        path = self.folder.root / "wire.txt"
        return path.read_text().splitlines() if path.exists() else []


def people() -> None:
    """Make the two accounts that the tests act as, and the agent with the unprotected tool."""
    for name in ("operator", "reviewer", "admin"):
        user, _ = models.User.objects.get_or_create(username=name, password="!")
        user.groups.set(Group.objects.filter(name=name))
    seed.register(WIRE)
    seed.register(READ)


def person(name: str) -> Actor:
    return Actor(user=models.User.objects.get(username=name), channel="page")


def start_invoices() -> models.Run:
    """Start the demo's agent on a file that leads to one mail and one fee."""
    number = next(_numbers)
    sha256 = starts.keep_blob(CSV.format(n=number).encode())
    given = {"file": {"path": f"{number}.csv", "sha256": sha256}, "as_of": "2026-11-27"}
    return starts.start_run(
        "receivables", input=given, title="Invoices", by=person("operator"), token=f"kill-{number}"
    )


def start_wire(agent: str = "wire") -> models.Run:
    number = next(_numbers)
    given = {"text": f"line {number}"}
    return starts.start_run(agent, input=given, title="A line", by=person("operator"), token=f"kill-{number}")


def answer_all(site: Site) -> None:
    """Answer every open question as a careful person would: approve, and say of lost effects what is true."""
    asked = models.Review.objects.filter(status="open", kind__in=("action", "in_doubt"))
    for review in asked.select_related("action__occurrence", "run"):
        given: dict[str, Any] = {"verdict": decisions.APPROVE}
        retype = (review.content or {}).get("retype")
        if retype:
            given["retype"] = retype["value"]
        if review.kind == "in_doubt":
            assert review.action is not None
            assert review.action.occurrence is not None
            if review.action.occurrence.horizon > timezone.now():
                continue
            happened = review.run.input["text"] in site.lines()
            given["verdict"] = decisions.HAPPENED if happened else decisions.ABSENT_DO
            given |= {"receipt": "It is on the wire." if happened else "", "rendered_at": timezone.now()}
        answer = decisions.Answer(
            revision=review.revision, digest=review.digest, evidence_number=review.evidence_number,
            token=f"answer-{next(_numbers)}", reason="as it should be", **given,
        )  # fmt: skip
        with contextlib.suppress(refusals.Stale):  # the engine was faster
            decisions.decide(review.pk, answer, by=person("reviewer"))


def finished(site: Site, runs: list[models.Run], *, within: float) -> dict[str, int]:
    """Answer questions until every run has ended; return how many ended in which way."""

    def all_ended() -> bool:
        answer_all(site)
        return all(run.status in {"succeeded", "failed", "cancelled"} for run in fresh(runs))

    end = time.monotonic() + within
    while not all_ended():
        assert time.monotonic() < end, [(run.pk, run.status, run.reason, run.error) for run in fresh(runs)]
        time.sleep(0.05)
    statuses = [run.status for run in fresh(runs)]
    return {status: statuses.count(status) for status in statuses}


def fresh(runs: list[models.Run]) -> list[models.Run]:
    """Return the runs as they are now."""
    return list(models.Run.objects.filter(pk__in=[run.pk for run in runs]).order_by("pk"))


def reconnect() -> None:
    """Let this process forget a connection to a server that was restarted."""
    connection.close()

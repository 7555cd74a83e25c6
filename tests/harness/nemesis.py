"""The nemesis: kills, stops and empties the processes of a real site, and starts again what died, as `up` would."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import redis
from django.conf import settings

from ckptsite.services import processes
from runs import models
from tests import waiting
from tests.harness import apps
from tests.kills import site as sites

WEIGHTS = {
    "child": 36,  # a child of the pool, inside an effect if one is
    "zombie": 12,  # a child that stands still until its run was taken over, and then goes on
    "worker": 9,  # the worker's main process alone; its children finish what they do
    "worker and children": 9,
    "postgres": 9,  # an immediate stop, as in a crash
    "clock": 7,
    "valkey": 6,  # killed; the one that replaces it is empty
    "valkey paused": 4,
    "valkey emptied": 3,
    "sigterm": 3,
    "sigquit": 2,
}
GONE = 20.0


class Site(sites.Site):
    """A site whose worker has four children and the tools of the harness."""

    late_ack = False

    def programs(self, name: str) -> processes.Program:
        """Return the program of this name, as `up` would start it, on the harness's world."""
        if name in {"postgres", "valkey"}:
            return super().programs(name)
        program = super().programs(name)
        command = tuple("4" if part == "12" else part for part in program.command)
        extra = {
            "DJANGO_SETTINGS_MODULE": "tests.harness.site_settings",
            apps.LATE_ACK: "yes" if self.late_ack else "no",
        }
        return dataclasses.replace(program, command=command, environment={**program.environment, **extra})


class Nemesis:
    """Strikes a site, at what is under way if it can."""

    def __init__(self, site: Site, rng: random.Random, inside: Path) -> None:
        self.site, self.rng, self.inside = site, rng, inside
        self.struck: Counter[str] = Counter()
        self.in_effect = 0
        self.stubborn: list[str] = []
        self._sessions: list[int] = []

    def order(self, kills: int) -> list[str]:
        """Return the kinds of so many strikes: each about as often as its weight, those that matter most first."""
        total = sum(WEIGHTS.values())
        kinds = [
            kind for kind, weight in WEIGHTS.items() for _ in range(max(1, round(kills * weight / total)))
        ]
        kinds = [*kinds[:kills], *(["child"] * (kills - len(kinds)))]
        self.rng.shuffle(kinds)
        return kinds

    def strike(self, kind: str) -> None:
        """Strike once, and put right what `up` puts right."""
        site = self.site
        self.struck[kind] += 1
        match kind:
            case "child":
                self._kill(self._child())
            case "zombie":
                self._zombie(self._child())
            case "worker":
                self._sessions.append(site.running["worker"][0].pid)
                site.running.pop("worker")[0].kill()
                self._worker()
            case "worker and children":
                site.kill("worker")
                self._worker()
            case "postgres":
                sites.reconnect()
                site.kill("postgres", signal.SIGQUIT)
                site.start("postgres")
            case "clock" | "valkey":
                site.kill(kind)
                site.start(kind)
            case "valkey paused":
                site.signal("valkey", signal.SIGSTOP)
                time.sleep(self.rng.uniform(1.0, 3.0))  # so long it is really gone
                site.signal("valkey", signal.SIGCONT)
            case "valkey emptied":
                with redis.Redis.from_url(settings.REDIS_CLIENT, socket_timeout=5) as client:
                    client.flushall()
            case "sigterm" | "sigquit":
                self._ask_to_end(signal.SIGTERM if kind == "sigterm" else signal.SIGQUIT)

    def _worker(self) -> None:
        self.site.late_ack = not self.site.late_ack  # early and late acknowledgement take turns
        self.site.start("worker")

    def _ask_to_end(self, number: int) -> None:
        process = self.site.running.pop("worker")[0]
        self._sessions.append(process.pid)
        process.send_signal(number)
        try:
            process.wait(GONE)
        except subprocess.TimeoutExpired:
            self.stubborn.append(f"the worker did not end within {GONE} s of signal {number}")
            processes.end_session(process.pid)
            process.wait()
        self._worker()

    def _child(self) -> int | None:
        """Return a child of the pool: one inside an effect if there is one within a moment, else any."""
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            children = self._children()
            noted = [int(path.name) for path in self.inside.iterdir() if int(path.name) in children]
            if noted:
                self.in_effect += 1
                return self.rng.choice(noted)
            time.sleep(0.01)
        return self.rng.choice(children) if children else None

    def _children(self) -> list[int]:
        pid = self.site.running["worker"][0].pid
        try:
            return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except FileNotFoundError:
            return []

    def _kill(self, pid: int | None) -> None:
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _zombie(self, pid: int | None) -> None:
        """Let a child stand still until somebody else has its run, and then go on beside them."""
        if pid is None:
            return
        before = dict(models.Run.objects.filter(status="running").values_list("pk", "fence"))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            longest = settings.CKPTSITE["LEASE"] + 3 + settings.CKPTSITE["MARGIN"]
            now = models.Run.objects.filter(pk__in=before)
            with contextlib.suppress(AssertionError):  # it may hold no run at all
                waiting.until(
                    lambda: any(before[pk] != fence for pk, fence in now.values_list("pk", "fence")),
                    within=longest,
                )
            os.kill(pid, signal.SIGCONT)

    def rest(self) -> None:
        """End what may be left of workers that were killed without their children."""
        for session in self._sessions:
            processes.end_session(session)

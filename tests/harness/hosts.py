"""`python -m tests.harness.hosts [--json]`: two hosts, one of them cut off in the middle of an effect.

PostgreSQL, Valkey, the clock and the world stand on one side; on each of two hosts with a network of their own a
Celery worker, reached over one wire. A run is held at a point of its effect, and the wire of the host that holds it
is cut: before the call, after it was applied, before the receipt, and so that the call is only tried once everything
is over. The other host takes the run over by lease and horizon, people say what is true, and the run ends. Then the
wire carries again, and the host that was cut off goes on where it was. Judged from outside: nothing doubled, lost or
unreleased, and nothing written by the one whose fence is over, but for what it has to say as evidence. Exit code 1 on
any violation, 2 where no network can be made.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import grounds, wires

if TYPE_CHECKING:
    from runs import models
    from tests.harness import nemesis, world

POSTGRES, VALKEY, WORLD = 5432, 6379, 7000
WITHIN = 60.0
"""Seconds in which a run must have ended on the other host, and the one that was cut off must have noticed."""

PLACES = {
    "before the call": ("effect.before_send", False),
    "after it was applied": ("wire.sent", False),
    "before the receipt": ("effect.after_send", False),
    "before a call that is tried late": ("effect.before_send", True),
}
"""Where a host is cut off, and whether it stands still there until everything is over."""
SAYS = {"before the receipt": "happened", "before a call that is tried late": "did_not_happen"}
"""What the one who was cut off knows, and must leave as evidence once it can: more it may not write."""


def main(arguments: Sequence[str]) -> int:
    """Cut hosts off, print what was found, return the exit code."""
    from tests.harness import apps, plan

    parser = argparse.ArgumentParser(prog="python -m tests.harness.hosts", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in one line")
    parser.add_argument("--few", action="store_true", help="one trial, for a short look")
    parser.add_argument(
        "--wrong", default="", help="of tests.harness.wrongs: workers built so must be caught"
    )
    options = parser.parse_args(arguments)
    if os.environ.get(wires.INSIDE) != "yes":
        try:
            wires.enter("tests.harness.hosts", arguments)
        except wires.Missing as missing:
            print(missing, file=sys.stderr)  # noqa: T201
            return 2
    trials = list(itertools.product(PLACES, plan.PROTECTIONS))
    if options.wrong:
        os.environ[apps.WRONG] = options.wrong
    if options.few:
        trials = [("after it was applied", "unprotected")]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="ckptsite-hosts-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        figures = grounds.on_a_site(
            Path(name), lambda site, outside, _: _apart(site, outside, Path(name), trials)
        )
    sys.stdout.write(json.dumps(figures, indent=None if options.json else 2) + "\n")
    return int(figures["exit"])


@dataclasses.dataclass
class Pair:
    """Both hosts, each with a worker, and the gates at which these can be stopped."""

    site: nemesis.Site
    outside: world.World
    gates: Path
    hosts: list[wires.Host]
    turns: Any = dataclasses.field(default_factory=itertools.count)

    def worker(self, host: wires.Host) -> None:
        """Start a worker on this host; of the servers it knows addresses only."""
        from ckptsite.services import folder as folders
        from ckptsite.services import processes
        from tests import waiting
        from tests.harness import apps, tools

        own = folders.Folder(self.site.folder.root.parent / host.name)
        folders.make(own)
        program = self.site.programs("worker")
        program = dataclasses.replace(
            program,
            name=f"worker {host.name}",
            command=(*host.within(), *program.command),
            log=own.logs / "worker.log",
            environment={
                **program.environment,
                "DATABASE_URL": f"postgresql://ckptsite@{host.here}:{POSTGRES}/ckptsite",
                "REDIS_URL": f"redis://{host.here}:{VALKEY}/0",
                "CKPTSITE_DATA": str(own.root),
                "CKPTSITE_READY_FILE": str(own.worker_ready),
                tools.SOCKET: f"tcp:{host.here}:{WORLD}",
                apps.GATES: str(self.gates),
            },
        )
        self.site.running[program.name] = (processes.start(program), program)
        waiting.until(own.worker_ready.exists, within=60, what=f"a worker on {host.name}")

    def cut_off(self, place: str, protection: str) -> dict[str, Any]:
        """Return what came of one run whose host was cut off at this place."""
        from tests import waiting

        point, late = PLACES[place]
        name = f"{place} {protection}"
        (self.gates / f"closed.{point}").touch()
        run = self._start(name, protection)
        there = waiting.until(lambda: self._held(run), within=WITHIN, what=f"a worker {place}")
        assert there is not None
        pid = int(there.name.partition(".")[2])
        host = next(host for host in self.hosts if host.runs(pid))
        rested = self.gates / f"rested.{pid}"
        rested.unlink(missing_ok=True)
        run.refresh_from_db()
        fence, began = run.fence, time.monotonic()
        host.cut()
        try:
            if not late:
                there.unlink()
            over = _told(lambda: self._ended(run), f"{name}: the other host had not ended it")
            seconds, head = time.monotonic() - began, (run.status, run.position, run.head)
        finally:
            host.plug()
        there.unlink(missing_ok=True)
        noticed = _told(rested.exists, f"{name}: who was cut off had not noticed")
        run.refresh_from_db()
        found = [*over, *noticed, *self._judged(run, name)]
        if place in SAYS and SAYS[place] not in self._evidence(run):
            found.append(f"lost: {name}: what was known on the host that was cut off")
        if run.fence == fence:
            found.append(f"{name}: nobody took it over")
        if (run.status, run.position, run.head) != head:
            found.append(f"unfenced: {name}: something was written after it had ended")
        return {"place": place, "protection": protection, "host": host.name, "seconds": round(seconds, 1),
                "status": run.status, "effects": self.outside.count(name), "violations": found}  # fmt: skip

    def _evidence(self, run: models.Run) -> set[str]:
        from runs import models

        return set(models.Evidence.objects.filter(action__run=run).values_list("outcome", flat=True))

    def _start(self, name: str, protection: str) -> models.Run:
        from runs.transitions import starts
        from tests.harness import acts, bots, plan

        given: dict[str, Any] = {kind: [] for kind in plan.PROTECTIONS}
        given |= {"name": "it", protection: [name]}
        by = bots.actor(bots.OPERATOR)
        return starts.start_run(acts.AGENT, input=given, title=name, by=by, token=name)

    def _held(self, run: models.Run) -> Path | None:
        """Let people answer, and return the mark of the process that stands at the gate."""
        self._answer(run)
        return next(self.gates.glob("at.*"), None)

    def _ended(self, run: models.Run) -> bool:
        from runs import lifecycle

        self._answer(run)
        run.refresh_from_db()
        return run.status in lifecycle.RUN_FINAL

    def _answer(self, run: models.Run) -> None:
        from tests.harness import bots, plan

        patient = plan.Plan(seed=run.pk, tag="hosts", effects=())
        bots.Bots(patient, self.outside, who=bots.REVIEWERS[0], turn=next(self.turns)).answer_all(run)

    def _judged(self, run: models.Run, name: str) -> list[str]:
        from tests.harness import oracle

        notes: dict[str, Any] = {"stalled": None, "acks": [], "too_early": 0}
        return [f"{name}: {sentence}" for sentence in oracle.judge(run, self.outside.facts([name]), notes)]


def _told(held: Any, sentence: str) -> list[str]:
    """Return nothing once this holds, or the sentence when it doesn't in time."""
    end = time.monotonic() + WITHIN
    while not held():
        if time.monotonic() > end:
            return [sentence]
        time.sleep(0.02)
    return []


def _apart(
    site: nemesis.Site, outside: world.World, root: Path, trials: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Return the figures of all trials on two hosts that stand while they last."""
    from tests.harness import oracle

    began = time.monotonic()
    grounds.begin(site)
    wires.Relay(
        {
            POSTGRES: str(site.folder.run / f".s.PGSQL.{POSTGRES}"),
            VALKEY: str(site.folder.valkey_socket),
            WORLD: outside.path,
        }
    )
    hosts: list[wires.Host] = []
    try:
        hosts += [wires.Host(number, root / f"host-{number}.log") for number in (1, 2)]
        gates = root / "gates"
        gates.mkdir()
        pair = Pair(site, outside, gates, hosts)
        for host in hosts:
            pair.worker(host)
        site.start("clock")
        found = [pair.cut_off(*trial) for trial in trials]
    finally:
        for name in [name for name in site.running if name.startswith("worker ")]:
            _end(site, name)
        for host in hosts:
            host.end()
    violations = [sentence for one in found for sentence in one["violations"]] + oracle.chains()
    return {
        "trials": found,
        "effects": sum(one["effects"] for one in found),
        "violations": violations,
        "seconds": round(time.monotonic() - began, 1),
        "exit": 1 if violations else 0,
    }


def _end(site: nemesis.Site, name: str) -> None:
    from ckptsite.services import processes

    process, program = site.running.pop(name)
    processes.end_session(process.pid)
    processes.stop(process, program, within=10)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

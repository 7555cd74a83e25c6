"""Processes that do what they are told until they are killed: workers, clocks and the web side of people.

A hand is forked, keeps its database connection from order to order, and tells over a socket which points it passed.
What befalls it at a point is part of the order. A hand that dies is not missed: the next order gets a new one.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from typing import Any
from unittest import mock

from django.db import connections

from runs import points
from runs.engine import heartbeat
from tests.engine import lock_order
from tests.harness import plan as plans
from tests.harness.plan import Death

Command = Callable[..., Any]
_inherited: list[Any] = []
_libc = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1  # whoever directs the trials may be killed too; nobody is left behind then


@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of an order: done, fault, died, ended, or at a point: stalled, asks."""

    how: str
    hand: Hand
    point: str = ""
    value: Any = None
    passed: Mapping[str, int] = field(default_factory=dict)
    count: int = 0
    struck: bool = False


class Hand:
    """One forked process that takes orders."""

    def __init__(self, commands: Mapping[str, Command], *, others: list[Hand]) -> None:
        self.socket, theirs = socket.socketpair()
        self._text = self.socket.makefile("rb")
        self._dying: dict[str, Any] = {}
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                for socket_of_another in (self.socket, *(hand.socket for hand in others)):
                    socket_of_another.close()
                _serve(theirs, commands)
                code = 0
            finally:
                os._exit(code)
        theirs.close()

    def order(self, do: str, given: Mapping[str, Any], death: Death | None) -> None:
        """Send an order."""
        message = {"do": do, "with": given, "death": asdict(death) if death is not None else None}
        with suppress(
            BrokenPipeError
        ):  # killed a moment after its last order was done; the next report says so
            self.socket.sendall(json.dumps(message).encode() + b"\n")

    def go(self) -> None:
        """Let a hand that stands still at a point go on."""
        if self._dying.pop("stalled", False):
            os.kill(self.pid, signal.SIGCONT)
        else:
            with suppress(BrokenPipeError):  # it has just ended; the next report says so
                self.socket.sendall(b"go\n")

    def hear(self) -> Report | None:
        """Return the next report, once the socket has something; None for one that only announces a death."""
        try:
            line = self._text.readline()
        except ConnectionResetError:  # it died before it had read what it was told
            line = b""
        if not line:
            os.waitpid(self.pid, 0)
            how = "died" if "died" in self._dying else "ended"
            point = self._dying.get("died", "")
            struck, passed = "died" in self._dying, self._dying.get("passed", {})
            return Report(how=how, hand=self, point=point, passed=passed, struck=struck)
        told = json.loads(line)
        if told["how"] == "died":
            self._dying = {"died": told["point"], "passed": told["passed"]}
            return None
        if told["how"] == "stalled":
            self._dying["stalled"] = True
            os.waitpid(self.pid, os.WUNTRACED)
        return Report(hand=self, **told)

    def end(self) -> None:
        """End the process."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.socket.close()


class Watch:
    """Counts the points that one order passes, and does at the right one what the order says."""

    def __init__(self, death: Death | None, channel: socket.socket) -> None:
        self.death = death
        self.passed: Counter[str] = Counter()
        self._channel = channel
        self._main = threading.get_ident()
        self._count = 0
        self._timer: threading.Timer | None = None
        self._unpatch = ExitStack()
        self._struck = False

    def reach(self, name: str) -> None:
        """Pass a point. A heartbeat's points count only for who names them, since time alone decides their order."""
        self.passed[name] += 1
        death = self.death
        if death is None or (name != death.point if death.point else threading.get_ident() != self._main):
            return
        self._count += 1
        if self._count == death.at:
            self._strike(death, name)

    def end(self) -> None:
        """Let nothing befall this process after its order."""
        if self._timer is not None:
            self._timer.cancel()
        self._unpatch.close()
        points.arm(None)

    def tell(self, how: str, **more: Any) -> None:
        """Report."""
        message = {"how": how, "passed": self.passed, "count": self._count, "struck": self._struck, **more}
        self._channel.sendall(json.dumps(message).encode() + b"\n")

    def _strike(self, death: Death, name: str) -> None:
        self._struck = True
        match death.how:
            case "kill":
                self._die(name)
            case "soon":
                self._timer = threading.Timer(death.delay, self._die, args=[name])
                self._timer.start()
            case "stall":
                if death.undying:
                    self._unpatch.enter_context(mock.patch.object(heartbeat, "end_process"))
                self.tell("stalled", point=name)
                os.kill(os.getpid(), signal.SIGSTOP)
            case _:
                self.tell("asks", point=name)
                self._channel.recv(16)
        self.death, self._count = death.then, 0

    def _die(self, name: str) -> None:
        self.tell("died", point=name)
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(10)


def _serve(channel: socket.socket, commands: Mapping[str, Command]) -> None:
    for connection in connections.all(initialized_only=True):
        _inherited.append(connection.connection)  # the parent's: neither used nor closed here
        connection.connection = None
    for line in channel.makefile("rb"):
        order = json.loads(line)
        watch = Watch(plans.death(order["death"]), channel)
        points.arm(watch.reach)
        try:
            value = commands[order["do"]](**order["with"])
            watch.end()
            wrong = lock_order.taken()
            assert not wrong, wrong[0]
            watch.tell("done", value=value)
        except Exception as error:  # whatever it is: the one who gave the order judges it
            watch.end()
            connections["default"].close()
            watch.tell("fault", value=f"{order['do']}: {type(error).__name__}: {error}")

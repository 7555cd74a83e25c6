"""A deadline of an effect is real: what outlives it is ended by the kernel, whatever it is doing."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runs import points
from runs.engine import outside
from tests import waiting


def child(effect: Callable[[], object], *, within: float) -> int:
    """Fork a process that carries out the effect; return its number."""
    pid = os.fork()
    if pid == 0:
        try:
            points.arm(None)
            outside.watch(None)
            outside.act(effect, within=within)
        finally:
            os._exit(0)
    return pid


def test_3_5_an_effect_that_never_gives_the_interpreter_back_is_ended() -> None:
    """Neither a timeout of a future nor a thread of ours could end this; the kernel does."""
    pid = child(lambda: re.match(r"(a+)+$", "a" * 64 + "b"), within=0.2)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGALRM


def test_3_6_a_process_that_was_frozen_past_its_horizon_sends_nothing(tmp_path: Path) -> None:
    """Frozen between check and send, let go on after its time: it is ended before it can send."""
    sent = tmp_path / "sent"

    def freeze_and_send() -> None:
        os.kill(os.getpid(), signal.SIGSTOP)
        sent.touch()

    pid = child(freeze_and_send, within=0.2)
    os.waitpid(pid, os.WUNTRACED)
    began = time.monotonic()
    waiting.until(lambda: time.monotonic() > began + 0.3)
    os.kill(pid, signal.SIGCONT)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGALRM
    assert not sent.exists()


@pytest.mark.django_db(transaction=True)
def test_3_5_an_effect_within_its_time_leaves_no_timer_behind() -> None:
    assert outside.act(lambda: 7, within=30) == 7
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with pytest.raises(OSError, match="no"):
        outside.act(_fails, within=30)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def _fails() -> None:
    raise OSError("no")

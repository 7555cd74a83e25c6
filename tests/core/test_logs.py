"""What the logs say about a failure: where it was, never what the variables held."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FAILS = """
import django
django.setup()
import structlog

def deliver(letter):
    raise OSError("the line is dead")

try:
    deliver("Dear " + "Fern Works")
except OSError:
    structlog.get_logger("runs.test").exception("not_delivered", action_id=7)
"""


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_names_the_place_and_no_values(form: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", FAILS],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "ckptsite.settings", "LOG_FORMAT": form},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    said = found.stdout + found.stderr
    for word in ("not_delivered", "OSError", "the line is dead", "deliver", "action_id"):
        assert word in said
    assert "Fern Works" not in said

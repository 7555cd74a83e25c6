"""What the settings make of an environment, each in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ckptsite.services import children

_SHOW = """
import json, sys
from ckptsite import settings
print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))
"""


def settings(*names: str, data: Path, **environment: str) -> dict[str, Any]:
    """These settings under this environment and nothing else of ours."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    found = subprocess.run(
        [sys.executable, "-c", _SHOW, *names],
        env={**kept, "CKPTSITE_DATA": str(data), **environment},
        cwd=children.BASE_DIR, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(found.stdout))


def test_they_load_with_nothing_there_and_make_nothing(tmp_path: Path) -> None:
    found = settings("DEBUG", "ALLOWED_HOSTS", "SESSION_COOKIE_SECURE", data=tmp_path / "none")
    assert found == {
        "DEBUG": False,
        "ALLOWED_HOSTS": ["127.0.0.1", "[::1]", "localhost"],
        "SESSION_COOKIE_SECURE": False,
    }
    assert not (tmp_path / "none").exists()


def test_https_closes_everything(tmp_path: Path) -> None:
    found = settings(
        *("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME"),
        *("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS"),
        data=tmp_path,
        PUBLIC_URL="https://runs.example.org",
    )
    assert found == {
        "ALLOWED_HOSTS": ["127.0.0.1", "[::1]", "localhost", "runs.example.org"],
        "CSRF_TRUSTED_ORIGINS": ["https://runs.example.org"],
        "SESSION_COOKIE_NAME": "__Host-session",
        "CSRF_COOKIE_NAME": "__Host-csrf",
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SECURE_SSL_REDIRECT": True,
        "SECURE_HSTS_SECONDS": 31_536_000,
    }


@pytest.mark.parametrize(
    ("role", "pool", "prepare", "age"),
    [("web", True, None, 0), ("worker", False, 1, None), ("clock", False, 1, None), ("tool", False, None, 0)],
)
def test_each_role_has_its_connections(
    tmp_path: Path, role: str, pool: bool, prepare: int | None, age: int | None
) -> None:
    database = settings("DATABASES", data=tmp_path, CKPTSITE_ROLE=role)["DATABASES"]["default"]
    assert ("pool" in database["OPTIONS"]) is pool
    assert database["OPTIONS"].get("prepare_threshold") == prepare
    assert database["CONN_MAX_AGE"] == age
    assert "-c lock_timeout=2000" in database["OPTIONS"]["options"]


def test_a_pooler_between_turns_prepared_statements_off(tmp_path: Path) -> None:
    given = {"CKPTSITE_ROLE": "worker", "DATABASE_PREPARE": "no"}
    database = settings("DATABASES", data=tmp_path, **given)["DATABASES"]["default"]
    assert "prepare_threshold" not in database["OPTIONS"]


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "CKPTSITE_REVIEW_EXPIRES",
            "1e300",
            "CKPTSITE_REVIEW_EXPIRES must be a number of seconds from 0.05 to",
        ),
        ("CKPTSITE_LEASE", "0", "CKPTSITE_LEASE must be a number of seconds from 0.05 to"),
        ("CKPTSITE_UNDO_WINDOW_2", "1e30", "CKPTSITE_UNDO_WINDOW_2 must be a number of seconds from 0 to"),
        ("CKPTSITE_HEARTBEAT", "100", "CKPTSITE_HEARTBEAT must be shorter than CKPTSITE_LEASE"),
        ("PUBLIC_URL", "http://*", "PUBLIC_URL must look like https://runs.example.org"),
        ("PUBLIC_URL", "http://user:pw@host", "PUBLIC_URL must look like https://runs.example.org"),
        ("PUBLIC_URL", "http://ex ample.com", "PUBLIC_URL must look like https://runs.example.org"),
    ],
)
def test_what_can_not_be_meant_is_refused_by_name(
    tmp_path: Path, name: str, value: str, sentence: str
) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        settings("DEBUG", data=tmp_path, **{name: value})
    assert sentence in refused.value.stderr

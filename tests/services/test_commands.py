"""Management commands find the database, or bring one for their own life."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckptsite.services import children, postgres
from ckptsite.services import folder as folders

pytestmark = pytest.mark.seconds


def start(*arguments: str, data: Path, **environment: str) -> subprocess.Popen[str]:
    """Run a management command as at a shell, without the test session's addresses."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CKPTSITE_") and name not in {"DATABASE_URL", "REDIS_URL"}
    }
    return subprocess.Popen(
        [sys.executable, str(children.BASE_DIR / "manage.py"), *arguments],
        env={**kept, "CKPTSITE_DATA": str(data), **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def manage(*arguments: str, data: Path, **environment: str) -> tuple[int, str, str]:
    """Exit code, what was printed and what was complained about."""
    process = start(*arguments, data=data, **environment)
    out, errors = process.communicate(timeout=60)
    return process.returncode, out, errors


COUNTING = "from runs.models import User; print(User.objects.count(), 'users')"


def test_two_commands_share_a_database_that_ends_with_them_and_may_be_backed_up(tmp_path: Path) -> None:
    data, other, file = tmp_path / "data", tmp_path / "other", tmp_path / "backup"
    both = [start("shell", "--verbosity=0", "-c", COUNTING, data=data) for _ in range(2)]
    said = [process.communicate(timeout=90) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert [out for out, _ in said] == ["0 users\n"] * 2
    folder = folders.Folder(data)
    assert not postgres.answers(folder.database_url)
    assert list(folder.pids.iterdir()) == []
    code, out, errors = manage("backup", str(file), data=data)
    assert (code, out.startswith(f"Written: {file} (")) == (0, True), errors
    code, out, errors = manage("restore", str(file), data=other)
    assert (code, out.startswith("Restored. No effect starts in it")) == (0, True), errors
    assert not postgres.answers(folders.Folder(other).database_url)


def test_without_services_one_line_says_so(tmp_path: Path) -> None:
    code, out, errors = manage("drain", "--no-services", data=tmp_path / "data")
    assert (code, out) == (1, "")
    assert errors.startswith("Error: No PostgreSQL answers in ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("arguments", [("check",), ("help",), ("migrate", "--help")])
def test_commands_without_a_database_make_no_data_folder(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, _, errors = manage(*arguments, data=tmp_path / "data")
    assert code == 0, errors
    assert not (tmp_path / "data").exists()


def test_a_setting_that_does_not_fit_is_one_line(tmp_path: Path) -> None:
    code, _, errors = manage("check", data=tmp_path / "data", CKPTSITE_LEASE="soon")
    assert code == 1
    assert errors == "Error: CKPTSITE_LEASE must be a number of seconds, not 'soon'.\n"

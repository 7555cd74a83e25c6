"""The data folder and its secrets."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ckptsite import env
from ckptsite.services import folder as folders


def test_a_secret_is_made_once_and_closed(tmp_path: Path) -> None:
    folder = folders.Folder(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: folders.secret(folder, "secret_key"), range(32)))
    assert made == {(tmp_path / "secret_key").read_text()}
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


def test_without_a_folder_a_secret_lives_for_the_process_only(tmp_path: Path) -> None:
    folder = folders.Folder(tmp_path / "none")
    assert len(folders.secret(folder, "secret_key")) >= 50
    assert not folder.root.exists()


def test_an_empty_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key_hmac").touch()
    with pytest.raises(env.EnvError, match="is empty"):
        folders.secret(folders.Folder(tmp_path), "key_hmac")


def test_a_path_too_long_for_a_socket_gets_a_short_place(tmp_path: Path) -> None:
    folder = folders.Folder(tmp_path / ("long" * 20) / "data")
    folders.make(folder)
    try:
        assert len(str(folder.valkey_socket)) < folders.SOCKET_BYTES
        assert stat.S_IMODE(folder.run.stat().st_mode) == 0o700
        first = folder.run
        folders.make(folder)
        assert folder.run == first
    finally:
        folder.run.rmdir()

"""Files of a workspace: nothing outside of it is reached, a change is whole or not there, and can be taken back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from runs.tools import contract, workspace
from runs.tools import file_changes as files
from runs.tools import file_reads as reads
from tests.tools.call import Call


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    folder = tmp_path / "desk"
    folder.mkdir()
    (tmp_path / "outside.txt").write_text("secret")
    settings.CKPTSITE_TOOLS = {"files": {"desk": {"folder": str(folder), "write": True}}}
    return folder


def do(kind: type[contract.Tool], key: str = "k1", seconds: float = 10.0, **args: Any) -> contract.Receipt:
    call = Call(idempotency_key=key, seconds=seconds)
    return kind().run(kind.parse({"workspace": "desk"} | args), call)


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../outside.txt", "a/../../outside.txt", "", ".", "a//b", "a\\b", "a\0b", "a\nb", ".git/config",
     "a/.GIT/hooks/x", ".ckptsite/x", "x/" * 40 + "x", "\ud800"],
)  # fmt: skip
def test_no_path_leads_out_of_it(path: str, folder: Path) -> None:
    with pytest.raises(contract.BadArguments):
        reads.Read.parse({"workspace": "desk", "path": path})


def test_no_link_is_followed(folder: Path) -> None:
    os.symlink("../outside.txt", folder / "file")
    os.symlink("..", folder / "up")
    os.mkfifo(folder / "pipe")
    (folder / "sub").mkdir()
    for path in ("file", "up/outside.txt", "pipe", "sub"):
        with pytest.raises(contract.DidNotHappen):
            do(reads.Read, path=path)
        with pytest.raises(contract.DidNotHappen):
            do(files.Write, path=path, text="x")
        with pytest.raises(contract.DidNotHappen):
            do(files.Delete, path=path)
    assert (folder.parent / "outside.txt").read_text() == "secret"
    assert [one["kind"] for one in do(reads.List).value["entries"]] == ["link", "other", "folder", "link"]
    with pytest.raises(contract.DidNotHappen, match="no folder"):
        do(reads.List, path="up")


def test_a_file_is_read_whole_in_pieces_or_kept_as_a_file(folder: Path) -> None:
    (folder / "long").write_text("ü" * 60_000)
    first = do(reads.Read, path="long").value
    rest = do(reads.Read, path="long", start=first["next"]).value
    assert first["text"] + rest["text"] == "ü" * 60_000
    assert rest["next"] is None
    (folder / "image").write_bytes(b"\x89\0")
    assert do(reads.Read, path="image").value["file"]["path"] == "image"
    with pytest.raises(contract.DidNotHappen, match="There is no file 'gone'"):
        do(reads.Read, path="gone")


def test_changes_are_shown_done_once_found_and_taken_back(folder: Path) -> None:
    write, ctx = files.Write(), Call(idempotency_key="k1")
    args = write.parse({"workspace": "desk", "path": "sub/a.txt", "text": "one\ntwo\n"})
    assert write.precondition(args, ctx) == {"sub/a.txt": "absent"}
    made = write.run(args, ctx)
    assert (folder / "sub/a.txt").read_text() == "one\ntwo\n"
    assert write.lookup(args, ["other", "k1"], ctx) == made
    assert "k1" not in str(made.value)

    os.chmod(folder / "sub/a.txt", 0o600)
    second = write.parse({"workspace": "desk", "path": "sub/a.txt", "text": "one\nthree\n"})
    shown = write.preview(second, ctx)
    assert "-two\n+three" in shown.body
    changed = write.run(second, Call(idempotency_key="k2"))
    assert os.stat(folder / "sub/a.txt").st_mode & 0o777 == 0o600
    assert write.verify(second, changed, ctx).holds
    with pytest.raises(contract.DidNotHappen, match="was changed since"):
        write.undo(args, made, Call(idempotency_key="u0"))
    write.undo(second, changed, Call(idempotency_key="u2"))
    assert (folder / "sub/a.txt").read_text() == "one\ntwo\n"
    assert write.undo_lookup(second, changed, ["u2"], ctx) is not None
    assert write.undo_lookup(second, changed, ["u1"], ctx) is None
    assert not write.verify(second, changed, ctx).holds

    moved = do(files.Move, "k3", path="sub/a.txt", to="b.txt")
    assert [path.name for path in folder.glob("*.txt")] == ["b.txt"]
    files.Move().undo(files.Move.parse({"workspace": "desk", "path": "sub/a.txt", "to": "b.txt"}), moved,
                      Call(idempotency_key="u3"))  # fmt: skip
    (folder / "b.txt").write_text("mine")
    with pytest.raises(contract.DidNotHappen, match=r"something at 'b\.txt' already"):
        do(files.Move, "k4", path="sub/a.txt", to="b.txt")

    gone = do(files.Delete, "k5", path="sub/a.txt")
    assert not (folder / "sub/a.txt").exists()
    delete = files.Delete()
    args_of = delete.parse({"workspace": "desk", "path": "sub/a.txt"})
    delete.undo(args_of, gone, Call(idempotency_key="u5"))
    assert (folder / "sub/a.txt").read_text() == "one\ntwo\n"


def test_what_was_refused_leaves_nothing_that_would_be_found(folder: Path, settings: Settings) -> None:
    (folder / "a").write_text("old")
    for kind, args in ((files.Write, {"path": "a", "text": "new"}), (files.Delete, {"path": "a"}),
                       (files.Move, {"path": "a", "to": "b"})):  # fmt: skip
        with pytest.raises(contract.DidNotHappen, match="time was over") as caught:
            do(kind, seconds=0, **args)
        assert caught.value.retryable
        assert kind().lookup(kind.parse({"workspace": "desk"} | args), ["k1"], Call()) is None
    assert (folder / "a").read_text() == "old"
    settings.CKPTSITE_TOOLS = {"files": {"desk": {"folder": str(folder)}}}
    with pytest.raises(contract.DidNotHappen, match="may be changed"):
        do(files.Delete, path="a")
    settings.CKPTSITE_TOOLS = {"files": {"desk": {"folder": str(folder / "nowhere")}}}
    with pytest.raises(contract.DidNotHappen, match="can't be opened"):
        do(reads.Read, path="a")


def test_where_somebody_moved_it_on_nobody_can_tell(folder: Path) -> None:
    (folder / "a").write_text("x")
    do(files.Move, path="a", to="b")
    (folder / "b").rename(folder / "c")
    with pytest.raises(workspace.Elsewhere, match="nobody can tell"):
        files.Move().lookup(files.Move.parse({"workspace": "desk", "path": "a", "to": "b"}), ["k1"], Call())

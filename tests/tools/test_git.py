"""git with real repositories: what is committed, branched and pushed, found again and taken back; no hook ever runs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from runs.tools import contract, git_changes, git_push, git_reads
from tests.tools.call import Call

MAIL = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


def git(folder: Path, *words: str) -> str:
    """Ask git, as a neighbour of the tools would."""
    told = subprocess.run(
        ["git", *MAIL, "-C", str(folder), *words], capture_output=True, check=True, text=True
    )
    return told.stdout.strip()


def repository(place: Path) -> tuple[Path, Path]:
    """Return a repository with one commit on `main`, and the bare one that it pushes to."""
    site, bare = place / "site", place / "bare.git"
    for words in (["init", "-q", "-b", "main", str(site)], ["init", "-q", "--bare", "-b", "main", str(bare)]):
        subprocess.run(["git", *words], check=True)
    (site / "a.txt").write_text("one\n")
    git(site, "add", "a.txt")
    git(site, "commit", "-q", "-m", "First")
    git(site, "push", "-q", str(bare), "main")
    return site, bare


@pytest.fixture
def site(tmp_path: Path, settings: Settings) -> Path:
    folder, bare = repository(tmp_path)
    known = {"folder": str(folder), "write": True, "push": str(bare), "author": "Desk <desk@example.com>"}
    settings.CKPTSITE_TOOLS = {"git": {"site": known, "looked": {"folder": str(folder)}}}
    for hook in ("pre-commit", "reference-transaction", "pre-push", "post-index-change"):
        path = folder / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
        path.chmod(0o755)
    return folder


def do(kind: type[contract.Tool], key: str = "k1", attempt: int = 1, seconds: float = 60, **args: Any) -> Any:
    call = Call(idempotency_key=key, attempt=attempt, seconds=seconds)
    return kind().run(kind.parse({"repository": "site"} | args), call)


def test_commits_branches_and_pushes(site: Path, tmp_path: Path) -> None:  # noqa: PLR0915 - one scene
    first = git(site, "rev-parse", "main")
    (site / "a.txt").write_text("two\n")
    (site / "b.txt").write_text("new\n")
    (site / "c.txt").write_text("not this one\n")
    assert "?? b.txt" in do(git_reads.Status).value["text"]
    assert "+two" in do(git_reads.Diff).value["text"]

    tool, ctx = git_changes.MakeCommit(), Call(idempotency_key="k1", seconds=60)
    args = tool.parse({"repository": "site", "branch": "main", "message": "Second", "paths": ["a.txt", "b.txt"],
                       "reference": "R 1"})  # fmt: skip
    shown = tool.preview(args, ctx)
    assert "-one\n+two" in shown.body
    assert "c.txt" not in shown.body
    rests_on = tool.precondition(args, ctx)
    assert rests_on["onto"] == first
    assert tool.lookup(args, ["k1"], ctx) is None
    made = tool.run(args, ctx)
    second = made.value["commit"]
    assert git(site, "rev-parse", "main") == second
    assert git(site, "rev-parse", "main^{tree}") == rests_on["tree"]
    assert git(site, "show", "-s", "--format=%an %ae %s", "main") == "Desk desk@example.com Second"
    assert do(git_reads.Status).value["text"].splitlines()[1:] == ["?? c.txt"]
    assert tool.lookup(args, ["other", "k1"], ctx) == made
    assert tool.lookup(args, ["k2"], ctx) is None
    with pytest.raises(contract.DidNotHappen, match="None of these files has changed"):
        tool.run(args, Call(idempotency_key="k2", seconds=60))

    branch = git_changes.MakeBranch()
    asked = branch.parse({"repository": "site", "branch": "topic/x", "start": "main"})
    begun = branch.run(asked, ctx)
    assert branch.lookup(asked, ["k1"], ctx) == begun
    assert branch.lookup(asked, ["k2"], ctx) is None
    with pytest.raises(contract.DidNotHappen, match="git refused it"):
        branch.run(asked, Call(idempotency_key="k2", seconds=60))
    branch.undo(asked, begun, Call(idempotency_key="u1", seconds=60))
    assert branch.lookup(asked, ["k1"], ctx) is None

    push = git_push.Push()
    sent = push.parse({"repository": "site", "branch": "main", "commit": second})
    assert push.precondition(sent, ctx) == {"there": first}
    assert "Second" in push.preview(sent, ctx).body
    for attempt in (1, 2):
        push.run(sent, Call(idempotency_key="p1", attempt=attempt, seconds=60))
    assert git(tmp_path / "bare.git", "rev-parse", "main") == second

    back = tool.undo(args, made, Call(idempotency_key="u2", seconds=60))
    assert git(site, "rev-parse", "main^{tree}") == git(site, "rev-parse", f"{first}^{{tree}}")
    assert tool.undo_lookup(args, made, ["u2"], ctx) == back
    assert (site / "a.txt").read_text() == "two\n"
    with pytest.raises(contract.DidNotHappen, match="committed on top"):
        tool.undo(args, made, Call(idempotency_key="u3", seconds=60))
    assert not (tmp_path / "hooked").exists()

    # Somebody else has pushed something else: nothing is overwritten, and what is part of theirs counts as pushed.
    git(tmp_path / "bare.git", "update-ref", "refs/heads/main", first)
    git(site, "checkout", "-q", "-f", "-b", "other", first)
    (site / "d.txt").write_text("theirs\n")
    git(site, "add", "d.txt")
    git(site, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "Theirs")
    git(site, "-c", "core.hooksPath=/dev/null", "push", "-q", str(tmp_path / "bare.git"), "other:main")
    theirs = git(site, "rev-parse", "other")
    (tmp_path / "hooked").unlink(missing_ok=True)
    with pytest.raises(contract.DidNotHappen, match="refused there"):
        push.run(sent, Call(idempotency_key="p2", seconds=60))
    with pytest.raises(Exception, match="rejected"):
        push.run(sent, Call(idempotency_key="p2", attempt=2, seconds=60))
    part = push.parse({"repository": "site", "branch": "main", "commit": first})
    push.run(part, Call(idempotency_key="p3", attempt=2, seconds=60))
    assert git(tmp_path / "bare.git", "rev-parse", "main") == theirs
    assert "Theirs" in do(git_reads.Log, of="other").value["text"]
    assert not (tmp_path / "hooked").exists()


@pytest.mark.parametrize(
    "ref", ["--output=x", "a..b", "a@{1}", "a b", "/a", "a.lock", ":/x", "a^{tree}", "a\n"]
)
def test_what_is_no_branch_is_refused(ref: str, site: Path) -> None:
    with pytest.raises(contract.BadArguments):
        git_reads.Log.parse({"repository": "site", "of": ref})


def test_what_may_not_be_changed_is_not(site: Path) -> None:
    for args, words in (
        ({"repository": "looked"}, "may be changed"),
        ({"repository": "nowhere"}, "may be changed"),
        ({"start": "gone"}, "git refused it"),
        ({"seconds": 0.1}, "time was over"),
    ):
        with pytest.raises(contract.DidNotHappen, match=words):
            do(git_changes.MakeBranch, **({"branch": "x"} | args))
    assert git(site, "branch", "--format=%(refname:short)") == "main"

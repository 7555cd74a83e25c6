"""`git.commit` and `git.branch`.

A commit carries a trailer made from its key, and a branch the same in its own log, so either can be looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any

import pydantic

from runs.tools import configured, contract, registry, repositories, workspace
from runs.tools.file_reads import Path
from runs.tools.repositories import NOBODY, Failed, Ref, Repository

TRAILER = "Ckptsite-Effect"
SHOWN = 50_000
LEAST = 0.5  # seconds; with less left nothing new is begun


class CommitArguments(contract.Arguments):
    """Which files as they lie there, onto which branch, and in which words."""

    repository: configured.Name
    branch: Ref
    message: str = pydantic.Field(min_length=1, max_length=10_000)
    paths: tuple[Path, ...] = pydantic.Field(min_length=1, max_length=200)
    reference: Annotated[str, pydantic.Field(min_length=1, max_length=120, pattern=r"^\S(.*\S)?$")] = (
        pydantic.Field(description="Which commit this is: two with the same reference are the same one.")
    )


class BranchArguments(contract.Arguments):
    """The new branch, and where it begins."""

    repository: configured.Name
    branch: Ref
    start: Ref = "HEAD"


class Change(contract.Tool):
    """What the tools that change repositories share."""

    effect = contract.Effect.REVERSIBLE
    tier = 1
    timeout = timedelta(seconds=30)
    settle = timedelta(seconds=5)  # what git has begun ends within moments of its worker

    def change(self, found: Repository, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Do it."""
        raise TypeError(f"{type(self).__name__} changes nothing")

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Return what was done."""
        found = repositories.opened(args.repository, ctx, write=True)
        if ctx.remaining() < LEAST:
            raise contract.DidNotHappen("The time was over before git was asked.", retryable=True)
        return self.change(found, args, ctx)


class MakeCommit(Change):
    """Commit files as they lie there. An undo is a further commit, with what was there before."""

    name = "git.commit"
    title = "Commit files"
    protection = contract.Protection.LOOKUP
    undo_protection = contract.Protection.LOOKUP
    identity = ("repository", "branch", "reference")
    decisive = ("branch", "paths")
    Arguments = CommitArguments

    def change(self, found: Repository, args: CommitArguments, ctx: contract.Context) -> contract.Receipt:
        """Return the name of the commit. Refuses DidNotHappen what fails before the branch points at it."""
        try:
            parent = self._parent(found, args.branch)
            with found.aside(parent, args.paths) as (_, wanted):
                if wanted == found.git("rev-parse", f"{parent}^{{tree}}").strip():
                    raise contract.DidNotHappen("None of these files has changed.")
            tree = found.written(parent, args.paths)
            made = _commit(found, tree, parent, args.message, ctx)
        except Failed as error:
            raise contract.DidNotHappen(f"git refused it: {error}.") from error
        _point(found, args.branch, made, parent, ctx)
        found.refresh(args.paths)
        return self._receipt(args, made)

    def lookup(
        self, args: CommitArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if the branch has a commit with the trailer of one of the keys."""
        made = _made(repositories.opened(args.repository, ctx), args.branch, keys)
        return self._receipt(args, made) if made else None

    def precondition(self, args: CommitArguments, ctx: contract.Context) -> Mapping[str, Any]:
        """Return what would be committed onto what: the decision rests on it."""
        found = repositories.opened(args.repository, ctx)
        parent = self._parent(found, args.branch)
        with found.aside(parent, args.paths) as (_, tree):
            return {"onto": parent, "tree": tree}

    def preview(self, args: CommitArguments, ctx: contract.Context) -> contract.Preview:
        """Return what the commit changes, line by line."""
        found = repositories.opened(args.repository, ctx)
        parent = self._parent(found, args.branch)
        with found.aside(parent, args.paths) as (own, tree):
            shown = own.git(
                "diff", "--no-ext-diff", "--no-textconv", "--stat", "-p", parent, tree, "--", most=SHOWN
            )
        return contract.Preview(
            summary=f"Commit {len(args.paths)} files onto {args.branch} in {args.repository}.",
            target=f"{args.repository}, {args.branch}",
            facts=(("Branch", args.branch), ("Onto", parent),
                   ("Author", found.known.author), ("Message", args.message)),
            reversal="An undo commits what was there before, as long as nothing was committed on top.",
            body=shown or "None of these files has changed.",
        )  # fmt: skip

    def undo(
        self, args: CommitArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Receipt:
        """Commit what was there before. Refuses DidNotHappen where something was committed on top."""
        found = repositories.opened(args.repository, ctx, write=True)
        made = str(receipt.value["commit"])
        try:
            if found.tip(args.branch) != made:
                raise contract.DidNotHappen(
                    "Something was committed on top, so it isn't taken back by itself."
                )
            tree = found.git("rev-parse", f"{made}^1^{{tree}}").strip()
            back = _commit(found, tree, made, f"Take back {made[:12]}", ctx)
        except Failed as error:
            raise contract.DidNotHappen(f"git refused it: {error}.") from error
        _point(found, args.branch, back, made, ctx)
        found.refresh(args.paths)
        return self._back(made, back)

    def undo_lookup(
        self, args: CommitArguments, receipt: contract.Receipt, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if the branch has the commit that takes it back."""
        back = _made(repositories.opened(args.repository, ctx), args.branch, keys)
        return self._back(str(receipt.value["commit"]), back) if back else None

    def _back(self, made: str, back: str) -> contract.Receipt:
        return contract.Receipt(
            summary=f"Commit {made[:12]} taken back by {back[:12]}.", value={"commit": back}
        )

    def _parent(self, found: Repository, branch: str) -> str:
        parent = found.tip(branch)
        if not parent:
            raise Failed(f"there is no branch {branch!r}")
        return parent

    def _receipt(self, args: CommitArguments, made: str) -> contract.Receipt:
        return contract.Receipt(summary=f"Commit {made[:12]} on {args.branch} in {args.repository}.",
                                value={"commit": made, "branch": args.branch})  # fmt: skip


class MakeBranch(Change):
    """Make a branch that isn't there yet. An undo takes it away while it still points where it began."""

    name = "git.branch"
    title = "Make a branch"
    protection = contract.Protection.LOOKUP
    identity = ("repository", "branch")
    decisive = ("branch",)
    Arguments = BranchArguments

    def change(self, found: Repository, args: BranchArguments, ctx: contract.Context) -> contract.Receipt:
        """Return where it begins. Refuses DidNotHappen a name that is taken, and a start that isn't there."""
        ref, note = f"refs/heads/{args.branch}", _note(ctx.idempotency_key)
        try:
            start = found.git(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{args.start}^{{commit}}"
            )
            found.git("check-ref-format", ref)
        except Failed as error:
            raise contract.DidNotHappen(f"git refused it: {error}.") from error
        start = start.strip()
        found.move("--create-reflog", "-m", note, ref, start, NOBODY)
        return self._receipt(args, start)

    def lookup(
        self, args: BranchArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if the branch is there, and its log says that one of the keys made it."""
        found = repositories.opened(args.repository, ctx)
        if not found.tip(args.branch):
            return None
        log = found.git("reflog", "show", "--format=%H %gs", f"refs/heads/{args.branch}", "--").splitlines()
        made = dict(reversed([(note, start) for start, _, note in (line.partition(" ") for line in log)]))
        start = next((made[note] for note in map(_note, keys) if note in made), "")
        return self._receipt(args, start) if start else None

    def undo(
        self, args: BranchArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Receipt:
        """Take it away. Refuses DidNotHappen where it points elsewhere by now."""
        found = repositories.opened(args.repository, ctx, write=True)
        start = str(receipt.value["commit"])
        if found.tip(args.branch) != start:
            raise contract.DidNotHappen("The branch is gone, or points elsewhere by now.")
        found.move("-d", f"refs/heads/{args.branch}", start)
        return contract.Receipt(summary=f"Branch {args.branch} taken away.", value={"branch": args.branch})

    def _receipt(self, args: BranchArguments, start: str) -> contract.Receipt:
        return contract.Receipt(summary=f"Branch {args.branch} made at {start[:12]} in {args.repository}.",
                                value={"branch": args.branch, "commit": start})  # fmt: skip


def _note(key: str) -> str:
    return f"ckptsite {workspace.stem(key)}"


def _commit(found: Repository, tree: str, parent: str, message: str, ctx: contract.Context) -> str:
    """Return the name of a new commit, which no branch points at yet."""
    words = f"{message.rstrip()}\n\n{TRAILER}: {workspace.stem(ctx.idempotency_key)}\n"
    return found.git("commit-tree", tree, "-p", parent, given=words).strip()


def _point(found: Repository, branch: str, made: str, parent: str, ctx: contract.Context) -> None:
    """Let the branch point at the commit. Refuses DidNotHappen where it moved meanwhile."""
    if ctx.remaining() < LEAST / 2:
        raise contract.DidNotHappen("The time was over before the branch was moved.", retryable=True)
    found.move("-m", "ckptsite", f"refs/heads/{branch}", made, parent)


def _made(found: Repository, branch: str, keys: Sequence[str]) -> str:
    """Return the commit of the branch that one of the keys made, or nothing."""
    if not found.tip(branch):
        return ""
    words = [f"--grep={TRAILER}: {workspace.stem(key)}" for key in keys]
    ref = f"refs/heads/{branch}"
    return found.git("log", "--fixed-strings", *words, "--max-count=1", "--format=%H", ref, "--").strip()


def _offer() -> None:
    known = any(one.write for one in configured.tools().git.values())
    for kind in (MakeCommit, MakeBranch):
        registry.offer(kind, on=known, how="Set write = true in a repository, as in [git.site].")


_offer()

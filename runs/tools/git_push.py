"""`git.push`: it names the commit, so that sending it again means the same; what was pushed on top of it stays."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from runs.tools import configured, contract, registry, repositories
from runs.tools.git_changes import SHOWN, Change
from runs.tools.repositories import Commit, Failed, Ref, Repository


class PushArguments(contract.Arguments):
    """Which commit the branch points at from now on, where it is pushed to; nothing is ever overwritten there."""

    repository: configured.Name
    branch: Ref
    commit: Commit


class Push(Change):
    """Push one commit to a branch. What stands there is never overwritten: it has to be part of what is pushed."""

    name = "git.push"
    title = "Push a commit"
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    protection = contract.Protection.IDEMPOTENT
    timeout = timedelta(seconds=60)
    identity = ("repository", "branch", "commit")
    decisive = ("branch", "commit")
    Arguments = PushArguments

    def change(self, found: Repository, args: PushArguments, ctx: contract.Context) -> contract.Receipt:
        """Return that it is there. Refuses DidNotHappen what the other side refused at the first send."""
        if not found.known.push:
            raise contract.DidNotHappen(
                f"Nothing is pushed from {args.repository!r}; it has no address for that."
            )
        try:
            found.git("cat-file", "-e", f"{args.commit}^{{commit}}")
        except Failed as error:
            raise contract.DidNotHappen(f"There is no such commit here: {error}.") from error
        ref = f"refs/heads/{args.branch}"
        env = found.signed_in()
        code, out, err = found.try_git(
            "push", "--porcelain", "--", found.known.push, f"{args.commit}:{ref}", env=env
        )
        said = " ".join((err or out).split())[:500]
        if code and any(line.startswith("!") for line in out.splitlines()):
            if self._part_of(found, args):
                return self._receipt(args)
            if ctx.attempt == 1:
                raise contract.DidNotHappen(f"It was refused there: {said}.")
        if code:
            raise Failed(said)
        return self._receipt(args)

    def _part_of(self, found: Repository, args: PushArguments) -> bool:
        """Return whether the commit is part of what stands there."""
        found.git("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", found.known.push,
                  f"+refs/heads/{args.branch}:refs/ckptsite/{args.branch}", env=found.signed_in())  # fmt: skip
        return (
            found.try_git("merge-base", "--is-ancestor", args.commit, f"refs/ckptsite/{args.branch}")[0] == 0
        )

    def precondition(self, args: PushArguments, ctx: contract.Context) -> Mapping[str, Any]:
        """Return what the branch points at there: the decision rests on it."""
        found = repositories.opened(args.repository, ctx)
        return {"there": found.there(args.branch) if found.known.push else ""}

    def preview(self, args: PushArguments, ctx: contract.Context) -> contract.Preview:
        """Return the commits that would come to stand there."""
        found = repositories.opened(args.repository, ctx)
        there = found.there(args.branch) if found.known.push else ""
        known = bool(there) and found.try_git("cat-file", "-e", there)[0] == 0
        new = (args.commit, *((f"^{there}",) if known else ()))
        log = found.git("log", "--no-show-signature", "--max-count=50", "--stat", "--format=%h %an: %s", *new, "--",
                        most=SHOWN)  # fmt: skip
        where = found.known.push or "nowhere: no address is configured"
        return contract.Preview(
            summary=f"Push {args.commit[:12]} to {args.branch}.",
            target=f"{where}, {args.branch}",
            facts=(("To", where), ("Branch", args.branch),
                   ("There now", there or "no such branch"), ("Commit", args.commit)),
            reversal="It can't be taken back from here.",
            body=log,
            warnings=() if known or not there else ("What stands there isn't known here; it is refused then.",),
        )  # fmt: skip

    def _receipt(self, args: PushArguments) -> contract.Receipt:
        return contract.Receipt(summary=f"Commit {args.commit[:12]} is on {args.branch}, where it was pushed to.",
                                value={"branch": args.branch, "commit": args.commit})  # fmt: skip


def _offer() -> None:
    known = any(one.write and one.push for one in configured.tools().git.values())
    registry.offer(
        Push, on=known, how="Give a repository that may be written an address to push to, in [git.site]."
    )


_offer()

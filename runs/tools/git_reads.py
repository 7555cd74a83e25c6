"""`git.status`, `git.diff` and `git.log`, in repositories that the administrator names."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pydantic

from runs.tools import configured, contract, registry, repositories
from runs.tools.repositories import Ref

SHOWN = 100_000


class StatusArguments(contract.Arguments):
    """Which repository."""

    repository: configured.Name


class DiffArguments(contract.Arguments):
    """Between which two commits or branches; without the second, up to the files as they are."""

    repository: configured.Name
    before: Ref = "HEAD"
    after: Ref | None = None


class LogArguments(contract.Arguments):
    """From which commit or branch back, and how many."""

    repository: configured.Name
    of: Ref = "HEAD"
    count: int = pydantic.Field(default=20, ge=1, le=200)


class _Look(contract.Tool):
    effect = contract.Effect.READ
    timeout = timedelta(seconds=30)

    def asked(self, args: Any) -> tuple[str, ...]:
        """Return what git is asked."""
        raise TypeError(f"{type(self).__name__} asks nothing")

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Return {"text"}. Refuses DidNotHappen what git refuses."""
        found = repositories.opened(args.repository, ctx)
        try:
            text = found.git(*self.asked(args), most=SHOWN)
        except repositories.Failed as error:
            raise contract.DidNotHappen(f"git refused it: {error}.") from error
        lines = len(text.splitlines())
        return contract.Receipt(summary=f"{self.title}: {lines} lines.", value={"text": text})


class Status(_Look):
    """Say which files of a repository differ from its newest commit."""

    name = "git.status"
    title = "Status of a repository"
    Arguments = StatusArguments

    def asked(self, args: StatusArguments) -> tuple[str, ...]:
        """Return the question."""
        return ("status", "--short", "--branch", "--untracked-files=all", "--ignore-submodules=all")


class Diff(_Look):
    """Show what differs between two commits, or a commit and the files."""

    name = "git.diff"
    title = "Differences in a repository"
    Arguments = DiffArguments

    def asked(self, args: DiffArguments) -> tuple[str, ...]:
        """Return the question."""
        sides = (args.before, *((args.after,) if args.after else ()))
        return (
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=all",
            "--end-of-options",
            *sides,
            "--",
        )


class Log(_Look):
    """List the commits of a branch, newest first."""

    name = "git.log"
    title = "Commits of a repository"
    Arguments = LogArguments

    def asked(self, args: LogArguments) -> tuple[str, ...]:
        """Return the question."""
        form = "--format=%H %aI %an: %s"
        return (
            "log",
            "--no-show-signature",
            f"--max-count={args.count}",
            form,
            "--end-of-options",
            args.of,
            "--",
        )


def _offer() -> None:
    for kind in (Status, Diff, Log):
        registry.offer(
            kind, on=bool(configured.tools().git), how="Name a repository, as in [git.site] folder."
        )


_offer()

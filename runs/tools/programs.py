"""`shell.run` and `python.run`: a program of an agent's, in a sandbox, with one workspace as its folder.

It may change files there and reaches nothing else. If the worker dies meanwhile, part of it may have been done, and
only a person can find out how much: nobody can look that up, and running it again isn't the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pydantic

from runs.tools import boxed, configured, contract, registry, sandbox, workspace

LEAST = 1.0  # seconds; with less left nothing new is begun
MARGIN = 2.0  # seconds that are kept for the end
MOST_FILES = 20_000
LISTED = 200


class _Run(contract.Arguments):
    workspace: configured.Name
    reference: Annotated[str, pydantic.Field(min_length=1, max_length=120, pattern=r"^\S(.*\S)?$")] = (
        pydantic.Field(
            description="Which piece of work this is: two with the same reference are the same one."
        )
    )


class ShellArguments(_Run):
    """What a shell runs in the workspace."""

    command: str = pydantic.Field(min_length=1, max_length=20_000)


class PythonArguments(_Run):
    """What Python runs in the workspace."""

    code: str = pydantic.Field(min_length=1, max_length=100_000)


class _Program(contract.Tool):
    """What both share."""

    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    identity = ("workspace", "reference")
    timeout = timedelta(seconds=70)
    settle = timedelta(seconds=2)  # the box ends with its worker
    decisive: ClassVar[tuple[str, ...]] = ()

    def program(self, args: Any) -> tuple[list[str], bytes]:
        """Return what is run in the box, and what it reads."""
        raise TypeError(f"{type(self).__name__} runs nothing")

    def text(self, args: Any) -> str:
        """Return what is run, for people."""
        raise TypeError(f"{type(self).__name__} runs nothing")

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Return {"code", "output", "errors", "cut", "late", "excess", "changed"}.

        Refuses DidNotHappen what wasn't begun.
        """
        folder, known = _place(args.workspace)
        seconds = min(float(known.seconds), ctx.remaining() - MARGIN)
        if seconds < LEAST:
            raise contract.DidNotHappen("The time was over before it was begun.", retryable=True)
        limits = sandbox.Limits(seconds=seconds, memory=known.memory, output=known.output * 1000)
        program, given = self.program(args)
        before = dict(_files(folder))
        try:
            ended = sandbox.run(program, workspace=folder, limits=limits, given=given)
        except sandbox.NoSandbox as error:
            raise contract.DidNotHappen(str(error)) from error
        after = dict(_files(folder))
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        value = {
            "code": ended.code,
            "output": ended.out.decode("utf-8", "replace"),
            "errors": ended.err.decode("utf-8", "replace"),
            "cut": ended.cut,
            "late": ended.late,
            "excess": ended.excess,
            "changed": changed[:LISTED],
        }
        how = f"was ended after {seconds:.0f} s" if ended.late else f"ended with {ended.code}"
        how = "was ended for what it used" if ended.excess else how
        summary = f"The program {how}; {len(changed)} files changed. {ended.excess}".strip()
        return contract.Receipt(summary=summary, value=value)

    def preview(self, args: Any, ctx: contract.Context) -> contract.Preview:
        """Return what is run, and in which limits."""
        known = configured.tools().sandbox
        why = sandbox.trouble()
        return contract.Preview(
            summary=f"A program runs in {args.workspace}, in a sandbox.",
            target=args.workspace,
            facts=(
                ("Workspace", args.workspace),
                ("May change", "files of the workspace, and nothing else"),
                ("Network", "none"),
                (
                    "Limits",
                    f"{known.seconds} s, {known.memory} MB, {boxed.MOST_PROCESSES} processes,"
                    f" {known.output} kB of output",
                ),
                ("Reference", args.reference),
            ),
            reversal="What it changes in the workspace can't be taken back.",
            body=self.text(args),
            warnings=(why,) if why else (),
        )


class Shell(_Program):
    """Run a command in a workspace, in a sandbox without network, keys or anything else of this machine."""

    name = "shell.run"
    title = "Run a command"
    decisive = ("command",)
    Arguments = ShellArguments

    def program(self, args: ShellArguments) -> tuple[list[str], bytes]:
        """Return the shell with the command."""
        return ["/bin/sh", "-c", args.command], b""

    def text(self, args: ShellArguments) -> str:
        """Return the command."""
        return args.command


class Python(_Program):
    """Run Python code in a workspace, in a sandbox without network, keys or anything else of this machine."""

    name = "python.run"
    title = "Run Python code"
    decisive = ("code",)
    Arguments = PythonArguments

    def program(self, args: PythonArguments) -> tuple[list[str], bytes]:
        """Return Python, which reads the code."""
        return [sandbox.python(), "-I", "-B", "-"], args.code.encode()

    def text(self, args: PythonArguments) -> str:
        """Return the code."""
        return args.code


def _place(name: str) -> tuple[Path, configured.Sandbox]:
    found = configured.tools()
    if name not in found.sandbox.workspaces:
        raise contract.DidNotHappen(
            f"No program may run in the workspace {name!r}; an administrator can add it."
        )
    folder = found.files[name].folder
    if not folder.is_dir():
        raise contract.DidNotHappen(f"The workspace {name!r} isn't there.")
    return folder, found.sandbox


def _files(folder: Path) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield each file with what tells that it was changed, so many and no more; links aren't followed."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in workspace.HIDDEN]
        for name in names:
            count += 1
            if count > MOST_FILES:
                return
            about = os.lstat(os.path.join(place, name))
            path = os.path.relpath(os.path.join(place, name), folder)
            yield path.encode("utf-8", "replace").decode(), (about.st_ino, about.st_size, about.st_mtime_ns)


def _offer() -> None:
    known = configured.tools().sandbox
    for kind in (Shell, Python):
        registry.offer(
            kind,
            on=bool(known.workspaces),
            how="Name workspaces under workspaces in [sandbox]; programs run only where bubblewrap works.",
            timeout=timedelta(seconds=known.seconds + 10),
        )


_offer()

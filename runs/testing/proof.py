"""The proof itself: what a declaration promises, tried from outside, and said in plain words where it is untrue."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from runs.testing import trials
from runs.tools.contract import Protection, Receipt, Tool

MOST_LINES = 40
"""So many lines of a tool's code are killed at; of longer ones, lines at even distances."""


class World(Protocol):
    """The outside as the proof counts it. It has to stand outside this process: in files, in a server."""

    def effects(self, key: str) -> int:
        """Return how many effects stand under the key, counted by looking at the world, not by asking the tool."""
        ...

    def state(self) -> object:
        """Return all of the world that the tool can touch, to be compared before and after a look."""
        ...


class Untrue(AssertionError):
    """The tool's declaration is untrue; one sentence for each way."""


@dataclass
class Proof:
    """What was tried, and what was found untrue."""

    tool: str
    protection: str
    sends: int = 0
    kills: int = 0
    looks: int = 0
    untrue: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.tool} ({self.protection}): {self.sends} sends, {self.kills} killed, {self.looks} looks"


def prove(
    tool: type[Tool] | Tool,
    arguments: Mapping[str, Any],
    *,
    world: World,
    files: Mapping[str, bytes] | None = None,
    kills: int = MOST_LINES,
) -> Proof:
    """Return the proof that the tool keeps what it declares; refuse (Untrue) with what it doesn't.

    `arguments` must do one effect each time that they run under a new key. `files` gives the bytes behind a FileRef,
    by digest. A `world` that can fail (it has `fail`) is made to, in each way that it knows. It is killed at `kills`
    lines at most.
    """
    made = tool() if isinstance(tool, type) else tool
    trial = _Trial(made, made.parse(dict(arguments)), world, dict(files or {}), kills)
    for check in (
        trial.purity,
        trial.plain,
        trial.too_late,
        trial.killed,
        trial.overtaken,
        trial.faults,
        trial.undone,
    ):
        check()
    if trial.proof.untrue:
        raise Untrue("\n".join(dict.fromkeys(trial.proof.untrue)))
    return trial.proof


class _Trial:
    def __init__(self, tool: Tool, args: Any, world: World, files: dict[str, bytes], kills: int) -> None:
        self.kills = kills
        self.tool, self.args, self.world, self.files = tool, args, world, files
        self.package = type(tool).__module__.partition(".")[0]
        self.proof = Proof(tool=tool.name, protection=str(tool.protection))
        self.lines = 1

    # What the checks are made of.

    def say(self, sentence: str) -> None:
        self.proof.untrue.append(f"{self.tool.name}: {sentence}")

    def context(self, key: str = "", attempt: int = 1, seconds: float | None = None) -> trials.Context:
        timeout = self.tool.timeout.total_seconds() if self.tool.timeout else 30.0
        return trials.Context(
            idempotency_key=key,
            attempt=attempt,
            files=self.files,
            seconds=timeout if seconds is None else seconds,
        )

    def begin(
        self,
        key: str,
        *,
        at: int = 0,
        number: int = signal.SIGKILL,
        attempt: int = 1,
        seconds: float | None = None,
    ) -> trials.Child:
        self.proof.sends += 1

        def run() -> Receipt:
            return self.tool.run(self.args, self.context(key, attempt, seconds))

        return trials.call(run, package=self.package, at=at, number=number)

    def send(self, key: str, **more: Any) -> trials.Ending:
        ending = self.begin(key, **more).end()
        self.proof.kills += ending.how == trials.KILLED
        if ending.how == trials.DID_NOT and more.get("attempt", 1) == 1 and self.count(key):
            self.say(f"it raised DidNotHappen ({ending.words}), but the effect stands in the world.")
        return ending

    def count(self, key: str) -> int:
        """Return how often the effect stands, once nothing is under way any more."""
        quiet: Callable[[], None] | None = getattr(self.world, "quiet", None)
        if quiet is not None:
            quiet()
        return self.world.effects(key)

    def look(self, keys: list[str], when: str) -> Receipt | None:
        """Return what the look-up finds; it may change nothing, and finding nothing is no error."""
        self.proof.looks += 1
        try:
            found: Receipt | None = self.still(
                "lookup", partial(self.tool.lookup, self.args, keys, self.context())
            )
            return found
        except Exception as error:
            self.say(f"lookup() failed {when}: {type(error).__name__}: {error}")
            return None

    def still(self, name: str, act: Callable[[], Any]) -> Any:
        """Return what a look gives, having compared the world before and after it."""
        before = self.world.state()
        found = act()
        if self.world.state() != before:
            self.say(f"{name}() changed the world; it may only look.")
        return found

    # The checks.

    def purity(self) -> None:
        """Preview and precondition look, they never touch; a look-up finds nothing where nothing was done."""
        for name in ("preview", "precondition"):
            if getattr(type(self.tool), name) is not getattr(Tool, name):
                act = getattr(self.tool, name)
                first, again = (self.still(name, partial(act, self.args, self.context())) for _ in range(2))
                if first != again:
                    self.say(
                        f"{name}() says something else the second time, though nothing happened in between."
                    )
        if self.tool.protection == Protection.LOOKUP and self.look(
            [trials.key("unused")], "where nothing was done"
        ):
            self.say("lookup() found an effect under a key that was never sent.")

    def plain(self) -> None:
        """Without trouble one effect stands under each key; the key is what tells two from one."""
        first, second = trials.key("plain", 1), trials.key("plain", 2)
        ending = self.send(first)
        self.lines = max(ending.lines, 1)
        if ending.how != trials.DID:
            self.say(f"run() did not succeed without any trouble: {ending.words or ending.how}.")
            return
        self._counted(first, 1, "after one run")
        self._verified(ending.receipt, first)
        if self.tool.protection == Protection.LOOKUP:
            if self.look([trials.key("other"), first], "after a run") is None:
                self.say("lookup() did not find an effect by one of its keys.")
            if self.look([second], "under a new key") is not None:
                self.say("lookup() found another key's effect: it has to look by key.")
        self.send(second)
        self._counted(second, 1, "after a run under a second key")
        self._counted(first, 1, "after a run under another key")
        if self.tool.protection == Protection.IDEMPOTENT:
            self.send(first, attempt=2)
            self._counted(first, 1, "after the same key was sent twice")
            both = trials.key("both")
            for child in [self.begin(both), self.begin(both, attempt=2)]:
                child.end()
            self._counted(both, 1, "after the same key was sent by two at once")

    def too_late(self) -> None:
        """Nothing is sent once the time is used up."""
        key = trials.key("late")
        ending = self.send(key, seconds=0.0)
        if self.count(key) or ending.how == trials.DID:
            self.say(
                "it acts although ctx.remaining() is 0: a worker that stood still would act after its deadline."
            )

    def killed(self) -> None:
        """Killed at each of its lines, and recovered as it declares: one effect in the end, and never two."""
        step = max(1, -(-self.lines // self.kills))
        for at in range(1, self.lines + 1, step):
            key = trials.key("killed", at)
            self.send(key, at=at)
            self._recover(key, f"after a kill at line {at} of {self.lines} that it runs")

    def overtaken(self) -> None:
        """One that stands still is overtaken under the same key, and goes on afterwards."""
        if self.tool.protection != Protection.IDEMPOTENT:
            return
        for at in range(1, self.lines + 1, max(1, self.lines // 8)):
            key = trials.key("still", at)
            child = self.begin(key, at=at, number=signal.SIGSTOP)
            if child.stands_still():
                self.send(key, attempt=2)
                child.go_on()
            child.end()
            self._counted(key, 1, f"after it stood still at line {at} and was overtaken")

    def faults(self) -> None:
        """The world fails in each way that it knows: request lost, answer lost, applied late, error after it."""
        fail = getattr(self.world, "fail", None)
        for fault in getattr(self.world, "faults", ()) if fail is not None else ():
            assert fail is not None
            key = trials.key("fault", fault)
            fail(fault)
            self.send(key)
            self._recover(key, f"after the world failed ({fault})")

    def undone(self) -> None:
        """What is undone doesn't stand any more."""
        undo = getattr(self.tool, "undo", None)
        if undo is None or undo.__func__ is getattr(Tool, "undo", None):
            return
        key = trials.key("undone")
        ending = self.send(key)
        if ending.receipt is None:
            return
        undo(self.args, ending.receipt, self.context(trials.key("undo")))
        self._counted(key, 0, "after undo()")

    # Recovery, as the engine does it.

    def _recover(self, key: str, when: str) -> None:
        stands = self.count(key)
        if stands > 1:
            self._counted(key, 1, when)
        elif self.tool.protection == Protection.IDEMPOTENT:
            self.send(key, attempt=2)
            self._counted(key, 1, f"{when} and the same key again")
        elif self.tool.protection == Protection.LOOKUP:
            found = self.look([key], when)
            if (found is not None) != bool(stands):
                self.say(
                    f"lookup() says {'found' if found else 'absent'} {when}, but the effect stands {stands} times."
                )
            elif not found:
                self.send(key, attempt=2)
                self._counted(key, 1, f"{when}, a look-up that found nothing, and a second send")

    def _counted(self, key: str, wanted: int, when: str) -> None:
        found = self.count(key)
        if found != wanted:
            self.say(f"{found} effects stand {when}; {wanted} should.")

    def _verified(self, receipt: Receipt | None, key: str) -> None:
        if receipt is None or not self.tool.verifies():
            return
        found = self.still("verify", lambda: self.tool.verify(self.args, receipt, self.context(key)))
        if found is not None and not found.holds:
            self.say(f"verify() says that what run() has done differs: {found.summary}")

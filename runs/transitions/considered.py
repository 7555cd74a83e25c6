"""What policy may look at about one call, beyond its tool, its agent and its run: found out only when a rule asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.db.models.functions import Coalesce

from runs import lifecycle, models
from runs.models import alike
from runs.policies import rules
from runs.tools.contract import Tool
from runs.transitions import clock_time

_DAY = 86_400.0

Preview = Callable[[], Mapping[str, Any] | None]
"""Says what the call will do. It may ask the world, so it is called outside of any transaction."""


def unseen() -> Mapping[str, Any] | None:
    """Refuse (rules.Unknown): where a transaction is open, nobody can ask the world what will happen."""
    raise rules.Unknown("what it reaches is known only when it is put before people.")


class Considered(Mapping[str, Any]):
    """One call as policy sees it: a mapping of the names that rules know, each found out at the first asking.

    Asking refuses rules.Unknown where it can't be found out, and KeyError for a name that rules don't know.
    """

    def __init__(
        self,
        run: models.Run,
        *,
        tool: str,
        arguments: Callable[[], Any],
        identity: str = "",
        duplicate: bool = False,
        deviation: Callable[[], bool] = lambda: False,
        preview: Preview = unseen,
    ) -> None:
        self.run = run
        self._tool, self._arguments, self._identity = tool, arguments, identity
        self._duplicate, self._deviation, self._preview = duplicate, deviation, preview
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = _FINDERS[name](self)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_FINDERS)

    def __len__(self) -> int:
        return len(_FINDERS)

    def _args(self) -> Any:
        return self._arguments()

    def _about_run(self) -> dict[str, Any]:
        return alike.of_run(self.run)

    def _budget(self) -> dict[str, Any]:
        """Return for each measure what the run has used, and the limit of its lineage with what is left, or null."""
        used, held = self.run.used(), self.run.advance or {}
        rows = {row.measure: row for row in models.Account.objects.filter(root=self.run.root_id)}
        found: dict[str, Any] = {}
        for measure, amount in used.items():
            row = rows.get(measure)
            since = amount - held[measure]["base"] if measure in held else 0
            left = None if row is None else row.limit - row.spent - since
            found[str(measure)] = {"used": amount, "limit": None if row is None else row.limit, "left": left}
        return found

    def _is_duplicate(self) -> bool:
        return self._duplicate

    def _deviates(self) -> bool:
        return self._deviation()

    def _first_time(self) -> bool:
        """Return whether nothing that people released has reached this target before."""
        try:
            shown = self._preview()
        except rules.Unknown:
            raise
        except Exception as error:
            raise rules.Unknown(f"what will happen could not be worked out: {error}") from error
        target = alike.target(self._tool, shown)
        if target is None:
            raise rules.Unknown("its preview names no target.")
        return not models.Review.objects.filter(
            target=target, status=lifecycle.Review.APPROVED, action__status=lifecycle.Action.SUCCEEDED
        ).exists()

    def _seen_elsewhere(self) -> float | None:
        """Return the days since the same was done in another piece of work, or None (CORRECTNESS 1.16)."""
        if not self._identity:
            return None
        done = models.Occurrence.objects.filter(
            identity_digest=self._identity, tool=self._tool, state=lifecycle.Occurrence.STANDING
        ).exclude(root=self.run.root_id)
        newest = done.annotate(at=Coalesce("settled_at", "created_at")).order_by("-at")
        at = newest.values_list("at", flat=True).first()
        return None if at is None else (clock_time.now() - at).total_seconds() / _DAY


_FINDERS: dict[str, Callable[[Considered], Any]] = {
    "args": Considered._args,
    "run": Considered._about_run,
    "budget": Considered._budget,
    "duplicate": Considered._is_duplicate,
    "deviation": Considered._deviates,
    "first_time": Considered._first_time,
    "seen_elsewhere": Considered._seen_elsewhere,
}


def facts(run: models.Run, tool: Tool | type[Tool], *, agent: str) -> rules.Facts:
    """Return what policy knows of every call of this tool in this run."""
    return rules.Facts(
        agent=agent,
        tool=tool.name,
        effect=str(tool.effect),
        tier=tool.risk(),
        protection=str(tool.protection),
        mode=str(run.mode),
        labels=alike.labels(run),
        open_world=tool.open_world,
    )

"""What must hold after every step of the state machine, read from the database and from the world alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Q

from runs import lifecycle, models, rights
from runs.engine import verifier
from tests.harness import shifted
from tests.harness.small_world import World


@dataclass
class Watch:
    """What was seen so far, and what nobody may start now."""

    world: World
    position: dict[int, int] = field(default_factory=dict)
    looked: dict[int, tuple[int, int, int, str]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    verified: dict[int, tuple[int, int, str]] = field(default_factory=dict)
    intents: int = 0
    paused: bool = False
    denied: frozenset[str] = frozenset()
    halted: set[int] = field(default_factory=set)

    def check(self, roots: list[int], *, verify: bool) -> list[str]:
        """Return everything that is wrong now, one sentence each."""
        runs = list(models.Run.objects.filter(pk__in=roots).order_by("pk"))
        found = shifted.unlawful_moves()
        changed = [run for run in runs if self._differs(run)]
        if changed or self.keys != self.world.keys():
            self.keys = self.world.keys()
            found += self._effects(roots)
        for run in changed:
            found += [f"run {run.pk} {sentence}" for sentence in (*_owner(run), *self._intents(run))]
        if verify:
            found += self._folds(runs)
        return found

    def _differs(self, run: models.Run) -> bool:
        """Return whether anything of the run changed since it was looked at: every change moves one of these."""
        now = (run.position, run.inbox, run.fence, run.status)
        before, self.looked[run.pk] = self.looked.get(run.pk), now
        return before != now

    def _effects(self, roots: list[int]) -> list[str]:
        """At most one execution per occurrence, exactly one where it stands, none where it is void, none unasked."""
        found = []
        keys = self.world.keys()
        rows = {row.key: row for row in models.Occurrence.objects.filter(root_id__in=roots)}
        for key, count in keys.items():
            if count > 1:
                found.append(f"doubled: key {key} stands {count} times in the world")
            if key not in rows:
                found.append(f"unknown: key {key} stands in the world and has no occurrence")
        for key, row in rows.items():
            count = keys.get(key, 0)
            if row.state == lifecycle.Occurrence.STANDING and count == 0:
                found.append(f"untrue: occurrence {row.pk} of {row.identity} stands, but not in the world")
            if row.state == lifecycle.Occurrence.VOID and count:
                found.append(f"untrue: occurrence {row.pk} of {row.identity} is void, but it is in the world")
        return found

    def _intents(self, run: models.Run) -> list[str]:
        """Every new intent rests on a release of these bytes, and none comes after a stop, hold, pause or ban."""
        found = []
        lines = models.Entry.objects.filter(
            run_id=run.pk, kind=lifecycle.EntryKind.INTENT, position__gt=self.position.get(run.pk, 0)
        )
        self.position[run.pk] = run.position
        for line in lines:
            self.intents += 1
            what = f"has an intent at position {line.position}"
            if self.paused:
                found.append(f"{what} after pause-all was acknowledged")
            if run.pk in self.halted:
                found.append(f"{what} after a stop or hold was acknowledged")
            if line.content["tool"] in self.denied:
                found.append(f"{what} after a policy that forbids it was acknowledged")
            found += [f"{what} {why}" for why in _unreleased(run, line)]
        return found

    def _folds(self, runs: list[models.Run]) -> list[str]:
        """The fold of the log is every projection, for the runs that changed."""
        found = []
        for run in runs:
            now = (run.position, run.inbox, run.status)
            if self.verified.get(run.pk) == now:
                continue
            self.verified[run.pk] = now
            try:
                verifier.verify_run(run)
            except verifier.Broken as error:
                found.append(f"verifier: {error}")
        return found


def _unreleased(run: models.Run, line: models.Entry) -> list[str]:
    call = line.content["call"]
    action = models.Action.objects.get(run=run, reply_position=call[0], call_index=call[1])
    if line.content["review"] is None:
        return [] if action.tool == "small.allowed" else ["that nobody released"]
    review = models.Review.objects.get(pk=line.content["review"])
    if review.digest != line.content["approval"] or review.action_id != action.pk:
        return ["of other bytes than were asked about"]
    votes = {
        vote.person_id
        for vote in review.decisions.filter(verdict="approve", digest=review.digest).select_related("person")
        if rights.may_decide(vote.person.roles(), review.groups)
    }
    return [] if len(votes) >= review.quorum else [f"with {len(votes)} of {review.quorum} votes"]


def _owner(run: models.Run) -> list[str]:
    """Every run is closed, or due, or held or waiting with an owner and a due time."""
    own = Q(run_id=run.pk) | Q(
        pk=run.budget_review_id
    )  # or the one question of all that reached a common limit
    reviews = models.Review.objects.filter(own, status=lifecycle.Review.OPEN, due_at__isnull=False)
    match run.status:
        case lifecycle.Run.QUEUED if run.wake_at is None:
            return ["is queued, but never due"]
        case lifecycle.Run.RUNNING if run.lease_until is None:
            return ["is running without a lease"]
        case lifecycle.Run.PAUSED if run.hold_by_id is None or run.remind_at is None:
            return ["is paused by nobody"]
        case lifecycle.Run.FAILED:
            asked = models.Review.objects.filter(run_id=run.pk, kind=lifecycle.ReviewKind.FAILURE)
            return [] if asked.exists() else ["failed, and nobody was asked"]
        case lifecycle.Run.WAITING if run.inbox == run.folded and not reviews.exists():
            blocked = models.Action.objects.filter(
                run_id=run.pk, blocked_by__state__in=(lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN)
            )
            return [] if blocked.exists() else [f"waits ({run.reason}) for nobody"]
    if run.status in lifecycle.RUN_ENDED:
        left = models.Action.objects.filter(run_id=run.pk, status__in=lifecycle.ACTION_OPEN)
        return [f"has ended with action {action.pk} {action.status}" for action in left]
    return []


def doubled(runs: list[int], world: World) -> list[str]:
    """Return what stands more often in the world than people wanted it, over each whole lineage.

    Once is what the agent wanted. More often by who released it beside an equal one, had it done once more, or said of
    one that it can't be known; less often where it was taken back.
    """
    keys, found = world.keys(), []
    rows = models.Occurrence.objects.filter(root__in=runs, owner__undo_of__isnull=True).select_related(
        "owner"
    )
    groups: dict[tuple[int, str, str], list[models.Occurrence]] = {}
    for row in rows:
        groups.setdefault((row.root_id, row.tool, row.identity_digest), []).append(row)
    for (root, tool, _), mine in groups.items():
        stands = [row for row in mine if keys.get(row.key) and row.state != lifecycle.Occurrence.UNDONE]
        wanted = 1 + sum(row.owner.duplicate_of_id is not None or _beside(row) for row in mine if row.n > 0)
        wanted += sum(row.state == lifecycle.Occurrence.UNKNOWN for row in mine)
        if len(stands) > wanted:
            found.append(
                f"doubled: {mine[0].identity} of {tool} in lineage {root} stands {len(stands)} times"
            )
    return found


def _beside(row: models.Occurrence) -> bool:
    """Return whether a person released it knowing that the like of it was done, or wanted it done once more."""
    asked = models.Review.objects.filter(consumed_by=row.owner_id)
    if any((review.content or {}).get("beside") for review in asked):
        return True
    waived = models.Run.objects.filter(root=row.root_id).values_list("waivers", flat=True)
    return any(used is not None for waivers in waived for used in (waivers or {}).values())

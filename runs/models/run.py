"""Runs."""

from __future__ import annotations

from collections import Counter

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast, Now

from runs import exact, lifecycle, measures
from runs.models.fields import DigestField, ExactField, choices, one_of, values
from runs.models.guards import Guard

LABELS = Cast("labels", models.JSONField())
"""How the labels are looked for; what counts is their text."""
FORMAT = 1
"""Format number of the log that this code writes; a worker claims only runs whose format it knows."""


class Run(models.Model):
    """One piece of work for one agent, from input to end. Statuses are written in runs.transitions only."""

    class Mode(models.TextChoices):
        """Whether effects are carried out."""

        LIVE = "live"
        DRY_RUN = "dry_run"

    agent_version = models.ForeignKey(
        "runs.AgentVersion", on_delete=models.PROTECT, related_name="runs", db_index=False
    )
    pins = models.ForeignKey(
        "runs.Pins", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    offered = models.ForeignKey(
        "runs.Pins", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    """What a person was asked to let the run go on with, while the question is open."""
    renewed_at = models.IntegerField(default=0)  # log position of the newest change of its pins
    title = models.CharField(max_length=200)
    input = ExactField()
    input_digest = DigestField()
    labels = ExactField()
    mode = models.CharField(max_length=10, choices=Mode.choices, default=Mode.LIVE)
    format = models.SmallIntegerField(default=FORMAT)

    status = models.CharField(max_length=10, choices=choices(lifecycle.Run))
    reason = models.CharField(max_length=40, blank=True)
    hold_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    hold_reason = models.TextField(blank=True)
    hold_right = models.CharField(max_length=20, blank=True)
    remind_at = models.DateTimeField(null=True)
    stop_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    stop_reason = models.TextField(blank=True)
    stop_at = models.DateTimeField(null=True)

    # A run that another one handed work to. Where both are locked, the parent is first.
    parent = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.PROTECT,
        related_name="children",
        db_index=False,
        db_constraint=False,  # whose check would lock the parent while its child is: the wrong way round
    )
    handed_by = models.ForeignKey(
        "runs.Occurrence",
        null=True,
        on_delete=models.PROTECT,
        related_name="handed",
        db_index=False,
        db_constraint=False,  # the same
    )
    returned = models.BooleanField(default=False)  # its end stands in its parent's log
    root = models.ForeignKey("self", on_delete=models.PROTECT, related_name="lineage")
    path = ExactField()
    begun = models.BooleanField(default=True)
    waivers = ExactField(
        default=dict
    )  # occurrence that may happen once more -> the action that did it, or None
    superseded_by = models.OneToOneField(
        "self", null=True, on_delete=models.PROTECT, related_name="supersedes"
    )
    start_token = models.CharField(max_length=64, unique=True)
    sealed_at = models.DateTimeField(
        null=True
    )  # on the first run of a lineage that nothing goes on from any more

    position = models.IntegerField(default=0)
    head = DigestField(default=exact.EMPTY)
    reply_position = models.IntegerField(default=0)
    checkpoint_number = models.IntegerField(default=0)
    checkpoint_position = models.IntegerField(default=0)
    plan_version = models.IntegerField(default=0)
    approved_plan = models.IntegerField(default=0)

    inbox = models.IntegerField(default=0)
    folded = models.IntegerField(default=0)

    lease_until = models.DateTimeField(null=True)
    fence = models.BigIntegerField(default=0)
    attempts = models.IntegerField(default=0)
    wake_at = models.DateTimeField(null=True)
    hinted_at = models.DateTimeField(null=True)
    priority = models.SmallIntegerField(default=100)

    budget = ExactField()
    steps = models.IntegerField(default=0)
    calls = models.IntegerField(default=0)
    tokens_in = models.BigIntegerField(default=0)
    tokens_out = models.BigIntegerField(default=0)
    cost_micro = models.BigIntegerField(default=0)
    cost_known = models.BooleanField(default=True)
    active_seconds = models.FloatField(default=0)
    claimed_at = models.DateTimeField(null=True)
    beat_at = models.DateTimeField(null=True)
    advance = ExactField(null=True)
    tool_calls = ExactField(default=dict)  # of each tool whose calls are limited, while they are
    budget_review = models.ForeignKey(
        "runs.Review", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )

    error = models.TextField(blank=True)
    summary = models.TextField(blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="started_runs"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            Guard(
                name="runs_run_rules",
                rules={
                    "runs_run_status": one_of("status", lifecycle.Run),
                    "runs_run_queued_is_due": ~Q(status=lifecycle.Run.QUEUED) | Q(wake_at__isnull=False),
                    "runs_run_running_is_leased": Q(status=lifecycle.Run.RUNNING, lease_until__isnull=False)
                    | (~Q(status=lifecycle.Run.RUNNING) & Q(lease_until__isnull=True)),
                    "runs_run_paused_is_owned": ~Q(status=lifecycle.Run.PAUSED)
                    | Q(hold_by__isnull=False, remind_at__isnull=False),
                    "runs_run_ended_has_time": Q(
                        status__in=values(lifecycle.RUN_ENDED), ended_at__isnull=False
                    )
                    | (~Q(status__in=values(lifecycle.RUN_ENDED)) & Q(ended_at__isnull=True)),
                    "runs_run_folded_of_inbox": Q(folded__lte=models.F("inbox")),
                    "runs_run_child_of_handoff": Q(
                        parent__isnull=True, handed_by__isnull=True, returned=False
                    )
                    | Q(parent__isnull=False, handed_by__isnull=False),
                },
            ),
            models.UniqueConstraint(
                name="runs_run_one_live_attempt",
                fields=["root"],
                condition=Q(mode="live", superseded_by__isnull=True)
                & ~Q(status__in=values(lifecycle.RUN_FINAL)),
            ),
        ]
        indexes = [
            models.Index(
                fields=["priority", "wake_at"], name="runs_run_due", condition=Q(status=lifecycle.Run.QUEUED)
            ),
            # Not over lease_until, which each intent moves: an update of no indexed column stays on its page.
            models.Index(fields=["id"], name="runs_run_leased", condition=Q(status=lifecycle.Run.RUNNING)),
            models.Index(
                fields=["parent"],
                name="runs_run_unreturned",
                condition=Q(parent__isnull=False, returned=False),
            ),
            models.Index(fields=["parent"], name="runs_run_handed", condition=Q(parent__isnull=False)),
            models.Index(fields=["id"], name="runs_run_offered", condition=Q(offered__isnull=False)),
            models.Index(fields=["status", "-id"], name="runs_run_by_status"),
            models.Index(fields=["agent_version", "-id"], name="runs_run_of_version"),
            models.Index(fields=["ended_at"], name="runs_run_ended", condition=Q(ended_at__isnull=False)),
            GinIndex(LABELS, name="runs_run_labelled", condition=~Q(labels={})),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    def counted(self, *, working: float = 0.0) -> Counter[str]:
        """Return the counters by measure, with those of single tools; what isn't counted is 0."""
        tools = {measures.of_tool(name): number for name, number in self.tool_calls.items()}
        return Counter({**self.used(working=working), **tools})

    def used(self, *, working: float = 0.0) -> dict[str, int]:
        """Return the counters by measure; `working` are the seconds since its claim, which are not booked yet."""
        return {
            measures.Measure.STEPS: self.steps,
            measures.Measure.CALLS: self.calls,
            measures.Measure.TOKENS: self.tokens_in + self.tokens_out,
            measures.Measure.COST: self.cost_micro,
            measures.Measure.SECONDS: int(self.active_seconds + working),
        }

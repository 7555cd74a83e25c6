"""Budget accounts: what may be used of one measure, by whom, and what of it is used or reserved."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from runs import measures
from runs.models.fields import one_of


class Account(models.Model):
    """What a lineage, an agent on one day, or the whole installation on one day may use of one measure.

    No row means no limit. `advanced` is what claimed runs hold, `spent` what they have settled; both are touched when
    a run is claimed, refilled, parked or ended, never in between. An advance can't overdraw the account; a reply that
    used more than its run still held is paid for all the same, and `over` adds up exactly this excess. (`spent` goes
    down only where the real usage of a lost call replaces a higher estimate, if need be on a later day's account.)
    """

    root = models.ForeignKey(
        "runs.Run", null=True, on_delete=models.PROTECT, related_name="accounts", db_index=False
    )
    agent = models.ForeignKey(
        "runs.Agent", null=True, on_delete=models.PROTECT, related_name="accounts", db_index=False
    )
    day = models.DateField(null=True)
    measure = models.CharField(max_length=250)  # "calls:<tool>" for one tool
    limit = models.BigIntegerField()
    spent = models.BigIntegerField(default=0)
    advanced = models.BigIntegerField(default=0)
    over = models.BigIntegerField(default=0)
    told = models.BooleanField(default=True)  # the logs of its runs say what of it was settled

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="runs_account_measure",
                condition=one_of("measure", measures.Measure) | Q(measure__startswith="calls:"),
            ),
            models.CheckConstraint(
                name="runs_account_scope",
                condition=Q(root__isnull=False, agent__isnull=True, day__isnull=True)
                | Q(root__isnull=True, day__isnull=False),
            ),
            models.CheckConstraint(
                name="runs_account_counts", condition=Q(limit__gte=0, advanced__gte=0, over__gte=0)
            ),
            models.CheckConstraint(
                name="runs_account_not_overdrawn",
                condition=Q(limit__gte=F("spent") + F("advanced") - F("over")),
            ),
            models.UniqueConstraint(fields=["root", "measure"], name="runs_account_of_lineage"),
            models.UniqueConstraint(fields=["agent", "day", "measure"], name="runs_account_of_agent"),
            models.UniqueConstraint(
                fields=["day", "measure"],
                name="runs_account_of_installation",
                condition=Q(root__isnull=True, agent__isnull=True),
            ),
        ]
        indexes = [models.Index(fields=["day"], name="runs_account_of_day", condition=Q(day__isnull=False))]

    def __str__(self) -> str:
        return f"account {self.pk} {self.scope} {self.measure}"

    @property
    def scope(self) -> str:
        """Return whose account this is: lineage, agent or installation."""
        if self.root_id is not None:
            return "lineage"
        return "installation" if self.agent_id is None else "agent"

    @property
    def free(self) -> int:
        """Return what is neither spent nor reserved; negative after an excess."""
        return self.limit - self.spent - self.advanced

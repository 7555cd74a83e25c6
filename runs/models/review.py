"""Reviews, the questions to people, and their decisions."""

from __future__ import annotations

import json
from collections.abc import Collection

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from runs import lifecycle
from runs.models import columns, wire
from runs.models.fields import DigestField, ExactField, choices, one_of, values
from runs.models.user import roles_of

_VOTERS = """
SELECT u.is_superuser, array_to_json(ARRAY(
  SELECT g.name FROM runs_user_groups m JOIN auth_group g ON g.id = m.group_id WHERE m.user_id = u.id)),
  u.id, p.id, EXISTS (SELECT FROM runs_scope)
FROM runs_decision d JOIN runs_user p ON p.id = d.person_id JOIN runs_user u ON u.id = coalesce(d.on_behalf_of_id, p.id)
LEFT JOIN runs_apitoken t ON t.id = d.through_id
WHERE d.review_id = $1 AND d.revision = $2 AND d.verdict = 'approve' AND u.is_active AND p.is_active
AND t.revoked_at IS NULL AND (d.on_behalf_of_id IS NULL OR EXISTS (
  SELECT FROM runs_delegation x WHERE x.principal_id = u.id AND x.delegate_id = p.id AND x.ended_at IS NULL
  AND x.until > clock_timestamp()) AND (p.is_superuser OR EXISTS (
  SELECT FROM runs_user_groups m JOIN auth_group g ON g.id = m.group_id
  WHERE m.user_id = p.id AND g.name IN ('reviewer', 'admin'))))
"""


class Review(models.Model):
    """One question that a run waits on. `digest` names exactly what is asked about; votes live on this row."""

    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="reviews")
    action = models.ForeignKey("runs.Action", null=True, on_delete=models.PROTECT, related_name="reviews")
    kind = models.CharField(max_length=10, choices=choices(lifecycle.ReviewKind))
    status = models.CharField(max_length=10, choices=choices(lifecycle.Review), default=lifecycle.Review.OPEN)
    revision = models.PositiveIntegerField(default=1)
    digest = DigestField()
    evidence_number = models.PositiveIntegerField(default=0)
    title = models.CharField(max_length=300)
    content = ExactField()
    tier = models.PositiveSmallIntegerField(default=0)
    policy_version = models.ForeignKey(
        "runs.PolicyVersion", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    """The one that its terms were judged under last; while it is open, that is soon the one in force."""
    tightened = models.PositiveSmallIntegerField(default=0)
    """How often its terms became stricter while it was open; a form names what it showed."""
    # By these, earlier questions like this one are found: of the same tool the same argument paths, reached target, and
    # identity.
    shape = DigestField(null=True)
    target = DigestField(null=True)
    same = DigestField(null=True)

    votes = models.PositiveSmallIntegerField(default=0)
    quorum = models.PositiveSmallIntegerField(default=1)
    groups = ExactField()
    separation = models.BooleanField(default=False)
    reason_required = models.BooleanField(default=False)
    undo_seconds = models.FloatField(default=0)
    due_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    on_expiry = models.CharField(max_length=10, default="deny")
    ladder = ExactField(default=list)
    """Who is asked as well, so many seconds after it was opened: what is still to come, [[seconds, groups], ...]."""
    next_at = models.DateTimeField(null=True)
    answer = models.CharField(max_length=30, blank=True)
    alone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    """The administrator who released it by break-glass, without the other people that it needed."""
    consumed_by = models.ForeignKey("runs.Action", null=True, on_delete=models.PROTECT, related_name="+")
    account = models.ForeignKey(
        "runs.Account", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    """The account that a question for more is about."""
    opened_at = models.DateTimeField(db_default=Now(), editable=False)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="runs_review_status", condition=one_of("status", lifecycle.Review)),
            models.CheckConstraint(name="runs_review_kind", condition=one_of("kind", lifecycle.ReviewKind)),
            models.CheckConstraint(
                name="runs_review_votes_of_quorum", condition=Q(votes__lte=F("quorum"), quorum__gte=1)
            ),
            models.CheckConstraint(
                name="runs_review_closed_has_time",
                condition=Q(status=lifecycle.Review.OPEN, closed_at__isnull=True)
                | (~Q(status=lifecycle.Review.OPEN) & Q(closed_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="runs_review_expiry_by_kind",
                condition=Q(kind__in=values(lifecycle.EXPIRING_KINDS), expires_at__isnull=False)
                | (~Q(kind__in=values(lifecycle.EXPIRING_KINDS)) & Q(expires_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="runs_review_consumed_when_approved",
                condition=Q(consumed_by__isnull=True) | Q(status=lifecycle.Review.APPROVED),
            ),
            models.UniqueConstraint(
                fields=["account"],
                name="runs_review_one_of_account",
                condition=Q(status=lifecycle.Review.OPEN, account__isnull=False),
            ),
            models.CheckConstraint(
                name="runs_review_alone_when_released",
                condition=Q(alone_by__isnull=True)
                | Q(status__in=[lifecycle.Review.APPROVED, lifecycle.Review.SUPERSEDED]),
            ),
            models.UniqueConstraint(
                fields=["action", "kind"],
                name="runs_review_one_open",
                condition=Q(status=lifecycle.Review.OPEN, action__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["run"], name="runs_review_alone", condition=Q(alone_by__isnull=False)),
            models.Index(fields=["opened_at"], name="runs_review_opened"),
            models.Index(
                fields=["due_at", "id"], name="runs_review_open", condition=Q(status=lifecycle.Review.OPEN)
            ),
            models.Index(
                fields=["expires_at"],
                name="runs_review_expiring",
                condition=Q(status=lifecycle.Review.OPEN, expires_at__isnull=False),
            ),
            models.Index(
                fields=["next_at"],
                name="runs_review_next",
                condition=Q(status=lifecycle.Review.OPEN, next_at__isnull=False),
            ),
            models.Index(
                fields=["shape", "-id"],
                name="runs_review_shape",
                condition=Q(shape__isnull=False, status=lifecycle.Review.APPROVED),
            ),
            models.Index(
                fields=["target", "-id"],
                name="runs_review_target",
                condition=Q(target__isnull=False, status=lifecycle.Review.APPROVED),
            ),
            models.Index(
                fields=["same", "-id"],
                name="runs_review_same",
                condition=Q(same__isnull=False, status=lifecycle.Review.APPROVED),
            ),
        ]

    def __str__(self) -> str:
        return f"review {self.pk} {self.kind}"

    def voters(self) -> list[frozenset[str]]:
        """Return the roles, as they are now, of each who approved this revision, but through a token taken back.

        An approval in somebody's place has that person's roles, while the delegation is in force.
        """
        found = wire.execute(_VOTERS, [columns.number(self.pk), columns.number(self.revision)])
        return [
            roles_of(json.loads(groups or b"[]"), superuser=top == b"t")
            for top, groups, *who, limits in found
            if limits != b"t" or self._in_scope({int(one) for one in who if one is not None})
        ]

    def _in_scope(self, people: Collection[int]) -> bool:
        """Return whether each of these people may see what this is about, as it is now."""
        agent = self.run.agent_version.agent_id
        limits = [user.limit() for user in apps.get_model("runs", "User").objects.filter(pk__in=people)]
        return all(limit is None or agent in limit for limit in limits)

    def why_apart(self, user_id: int, *, written: Collection[int] | None = None) -> str:
        """Return what this person did to what is asked about, for where somebody else must release it, or nothing.

        `written`: the actions whose arguments they wrote, where the caller has read that for many questions at once.
        """
        if self.run.created_by_id == user_id:
            return "You started this run"
        if self.run.path or written is None:
            shaped = self._shaped(user_id)
            if shaped:
                return shaped
        if self.action_id is None:
            return ""
        if written is None:
            revisions = apps.get_model("runs", "Revision").objects
            written = (
                {self.action_id} if revisions.filter(action=self.action_id, author=user_id).exists() else ()
            )
        if self.action_id not in written:
            return ""
        undo = self.action is not None and self.action.undo_of_id is not None
        return "You asked for this undo" if undo else "You changed these arguments"

    def _shaped(self, user_id: int) -> str:
        """Return what this person did on the run's path: began an attempt, edited its plan or its arguments."""
        path = [(int(ancestor), int(last)) for ancestor, last in self.run.path]
        before = Q()
        for ancestor, last in path:
            before |= Q(run=ancestor, position__lte=last)
        began = apps.get_model("runs", "Run").objects.filter(pk__in=dict(path), created_by=user_id)
        if path and began.exists():
            return "You began an attempt that led here"
        if (
            apps.get_model("runs", "Plan")
            .objects.filter(Q(run=self.run_id) | before, author=user_id)
            .exists()
        ):
            return "You edited the plan that led here"
        if path:
            name = apps.get_model("runs", "User").objects.values_list("username", flat=True).get(pk=user_id)
            edits = apps.get_model("runs", "Entry").objects.filter(before, kind=lifecycle.EntryKind.REVISION)
            if any(line.content.get("by") == name for line in edits):
                return "You changed arguments that led here"
        return ""


class Decision(models.Model):
    """One person's answer to a review at one revision. Append-only."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="decisions")
    revision = models.PositiveIntegerField()
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions")
    on_behalf_of = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    """In whose place, by a delegation; then it counts as theirs, and only while they may give it too."""
    verdict = models.CharField(max_length=30)
    reason = models.TextField(blank=True)
    content = ExactField()
    digest = DigestField()
    token = models.CharField(max_length=64, unique=True)
    channel = models.CharField(max_length=20, default="page")
    ip = models.GenericIPAddressField(null=True)
    through = models.ForeignKey(
        "runs.ApiToken", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["review", "revision", "person"], name="runs_decision_one_vote"),
            models.UniqueConstraint(
                fields=["review", "revision", "on_behalf_of"],
                name="runs_decision_one_vote_in_place",
                condition=Q(on_behalf_of__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["created_at"], name="runs_decision_when")]

    def __str__(self) -> str:
        return f"{self.person_id} {self.verdict} review {self.review_id}"

"""Folding in a person's edit: the next revision of a held action, which is prepared and asked about anew."""

from __future__ import annotations

from runs import exact, lifecycle, models
from runs.transitions.steps import revisions
from runs.transitions.steps._statement import Work


def fold(work: Work, fact: models.Fact) -> None:
    """Append the revision, unless the action was overtaken meanwhile: then the edit is kept as a note."""
    review = models.Review.objects.select_related("action").get(pk=fact.content["review"], run=work.run)
    assert review.action is not None
    assert fact.by is not None
    action = work.action((review.action.reply_position, review.action.call_index))
    content = {name: value for name, value in fact.content.items() if name != "token"}
    who = fact.by.get_username()
    if (
        action.status != lifecycle.Action.HELD
        or action.attempt
        or fact.content["revision"] != action.revision + 1
    ):
        work.log.append(lifecycle.EntryKind.NOTE, {**content, "code": fact.kind, "by": who})
        return
    before, proposed = action.digest, action.proposed_identity or action.identity_digest
    revisions.append(
        action,
        action.arguments() if action.revision == 1 else None,
        arguments=content["arguments"],
        digest=content["digest"],
        author=fact.by,
        reason=content["reason"],
    )
    action.identity = content["identity"]
    action.identity_digest = exact.digest_of(action.identity)
    action.proposed_identity = proposed if proposed != action.identity_digest else None
    action.duplicate_of = _earlier(action)
    work.log.append(
        lifecycle.EntryKind.REVISION,
        {
            "call": [action.reply_position, action.call_index],
            "number": action.revision,
            "arguments": content["arguments"],
            "digest": action.digest,
            "before": before,
            "identity": action.identity_digest,
            "review": review.pk,
            "reason": content["reason"],
            "by": who,
        },
        boundary=lifecycle.Boundary.EDITED,
    )
    action.save()


def _earlier(action: models.Action) -> models.Action | None:
    """Return another action of the run with the identity that this one has now."""
    return (
        models.Action.objects.filter(
            run=action.run_id, tool=action.tool, identity_digest=action.identity_digest
        )
        .exclude(pk=action.pk)
        .exclude(status__in=("denied", "superseded", "expired", "failed"))
        .order_by("-id")
        .first()
    )

"""What became of an action so far, line by line of its run's log: asked, answered, changed, sent, asked again."""

from __future__ import annotations

from django.db.models import TextField
from django.db.models.functions import Cast

from runs import lifecycle, models
from runs.selectors import check_models, deciding, run_asked, run_log, run_words

LINES = 40
_KINDS = (
    lifecycle.EntryKind.CALL,
    lifecycle.EntryKind.VERDICT,
    lifecycle.EntryKind.DECISION,
    lifecycle.EntryKind.REVISION,
    lifecycle.EntryKind.INTENT,
    lifecycle.EntryKind.RECEIPT,
    lifecycle.EntryKind.RESULT,
)


def past(
    run: models.Run, action: models.Action | None, viewer: deciding.Viewer
) -> tuple[check_models.Past, ...]:
    """Return the newest lines about the action, oldest first; nothing where it was only proposed and asked about."""
    if action is None:
        return ()
    call = f'"call":[{action.reply_position},{action.call_index}]'
    rows = (
        models.Entry.objects.filter(run=run.pk, kind__in=_KINDS, position__gte=action.reply_position)
        .alias(said=Cast("content", TextField()))
        .filter(said__contains=call)
        .order_by("-position")
    )
    lines = [run_log.line(row) for row in run_log.cut(rows)[:LINES]][::-1]
    if len(lines) < 2:  # the question itself
        return ()
    names = run_log.names(run, lines, viewer=viewer.user)
    agent = run.agent_version.agent.title or run.agent_version.agent.name
    starter = names.person(run.created_by.username)
    return tuple(_past(line, run_words.said(line, names, agent=agent, starter=starter)) for line in lines)


def _past(line: run_log.Line, said: run_asked.Said) -> check_models.Past:
    return check_models.Past(
        position=line.position,
        title=said.title,
        who=said.who,
        text=said.text,
        at=line.created_at,
        icon=said.icon,
        tone=said.tone,
        review_id=said.review_id,
    )

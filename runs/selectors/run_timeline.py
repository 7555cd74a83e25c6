"""The run's timeline: every line of its log in words, newest first, routine ones folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from runs import lifecycle, models, rights
from runs.selectors import (
    attachments,
    deciding,
    failures,
    keyset,
    now,
    run_asked,
    run_header,
    run_labels,
    run_log,
    run_models,
    run_transcript,
    run_words,
    take_over,
    words,
)

SIZE = 100
FOLD_FROM = 2
NAMED = 3


def page(
    run: models.Run,
    viewer: deciding.Viewer,
    params: Mapping[str, str],
    *,
    given: Mapping[str, str] | None = None,
    error: str = "",
) -> run_models.TimelinePage:
    """Return one page of the timeline, or of its failures; `given` is what was typed to take a dry run over."""
    only = params.get("only") == "failures"
    rows, paging = keyset.page(
        run_log.cut(failures.among(run) if only else models.Entry.objects.filter(run=run)),
        by=("position",),
        params=params,
        size=SIZE,
        keep={"only": "failures"} if only else None,
        total=None if only else run.position,
    )
    lines = [line for line in map(run_log.line, rows) if not only or failures.is_one(line)]
    names = run_log.names(run, lines, viewer=viewer.user)
    making = {line.position: line.content for line in lines if line.kind in run_transcript.MAKING}
    files = attachments.of(making, run_id=run.pk)
    agent = run.agent_version.agent
    starter = names.person(run.created_by.username)
    items = [
        replace(
            item(line, run_words.said(line, names, agent=agent.title or agent.name, starter=starter)),
            files=files.get(line.position, ()),
        )
        for line in lines
        if not _said_by_the_result(line)
    ]
    header = run_header.header(run, viewer, tab="run")
    return run_models.TimelinePage(
        header=header,
        groups=tuple(groups(_once(items, said=header.sentence))),
        page=paging,
        failures=only,
        over=take_over.form(run, given or {}, error=error) if viewer.may(rights.Act.REDRIVE) else None,
    )


def _said_by_the_result(line: run_log.Line) -> bool:
    """Return whether the next line says the same in better words: a receipt that came with the answer."""
    content = line.content
    return (
        line.kind == lifecycle.EntryKind.RECEIPT
        and content.get("outcome") == "happened"
        and content.get("source") == "run"
    )


def _once(items: Iterable[run_models.TimelineItem], *, said: str) -> Iterator[run_models.TimelineItem]:
    """Yield the lines; what the head of the page says in the same words isn't said again."""
    for item in items:
        yield replace(item, detail="") if item.detail and item.detail.strip() == said.strip() else item


def groups(items: Iterable[run_models.TimelineItem]) -> Iterator[run_models.TimelineGroup]:
    """Yield the lines, with neighbouring routine ones folded behind one line."""
    routine: list[run_models.TimelineItem] = []
    for item in items:
        if item.tone == run_labels.QUIET:
            routine.append(item)
            continue
        yield from _fold(routine)
        routine = []
        yield run_models.TimelineGroup(items=(item,))
    yield from _fold(routine)


def _fold(routine: list[run_models.TimelineItem]) -> Iterator[run_models.TimelineGroup]:
    if len(routine) < FOLD_FROM:
        yield from (run_models.TimelineGroup(items=(item,)) for item in routine)
        return
    results = [item.title for item in routine if item.icon == "wrench"][:NAMED]
    named = f": {'; '.join(results)}" if results else ""
    yield run_models.TimelineGroup(items=tuple(routine), summary=f"{len(routine)} routine lines{named}")


def item(line: run_log.Line, said: run_asked.Said) -> run_models.TimelineItem:
    """Return the line as the timeline shows it."""
    usage = line.content.get("usage") or {}
    micro = usage.get("cost_micro")
    action = said.action
    closing = line.kind == lifecycle.EntryKind.RESULT
    warn = line.unusable and said.tone == run_labels.QUIET  # what can't be used must not hide in a fold
    return run_models.TimelineItem(
        position=line.position,
        icon="triangle-alert" if warn else said.icon,
        tone=run_labels.ASK if warn else said.tone,
        title=said.title,
        at=line.created_at,
        detail=said.text,
        checkpoint=line.number,
        boundary=words.BOUNDARIES.get(line.boundary, line.boundary),
        tier=action.tier if action and said.tone in {run_labels.ASK, run_labels.DOUBT} else None,
        review_id=said.review_id,
        action_status=str(line.content.get("status") or "") if action and closing else "",
        cost=now.dollars(micro, known=True) if micro else None,
        person=said.who if said.side == run_labels.PERSON else "",
        digest=line.head,
    )

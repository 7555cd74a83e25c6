"""The run's transcript: what was said and done, oldest first, in words with the exact content behind them."""

from __future__ import annotations

from collections.abc import Mapping

from django.urls import reverse

from runs import models
from runs.selectors import deciding, keyset, now, run_header, run_log, run_models, run_words

SIZE = 100
INLINE = 2_000
"""Longest JSON text, in characters, that the page holds whole; what is longer is saved as a file."""
BEGINNING = 600


def page(run: models.Run, viewer: deciding.Viewer, params: Mapping[str, str]) -> run_models.TranscriptPage:
    """Return one page of the transcript."""
    rows, paging = keyset.page(
        run_log.cut(models.Entry.objects.filter(run=run)),
        by=("position",),
        params=params,
        size=SIZE,
        descending=False,
        total=run.position,
    )
    lines = [run_log.line(row) for row in rows]
    names = run_log.names(run, lines, viewer=viewer.user)
    agent = run.agent_version.agent.title or run.agent_version.agent.name
    starter = names.person(run.created_by.username)
    return run_models.TranscriptPage(
        header=run_header.header(run, viewer, tab="run-transcript"),
        entries=tuple(
            _entry(run, line, run_words.said(line, names, agent=agent, starter=starter)) for line in lines
        ),
        page=paging,
    )


def _entry(run: models.Run, line: run_log.Line, said: run_words.Said) -> run_models.TranscriptEntry:
    usage = line.content.get("usage") or {}
    tokens = int(usage.get("tokens_in") or 0) + int(usage.get("tokens_out") or 0)
    micro = usage.get("cost_micro")
    whole = line.whole and line.size <= INLINE
    return run_models.TranscriptEntry(
        position=line.position,
        kind=line.kind,
        who=said.who,
        side=said.side,
        title=said.title,
        at=line.created_at,
        text=said.text,
        json=line.text if whole else "",
        beginning="" if whole else line.text[:BEGINNING],
        size=line.size,
        shortened=not whole,
        raw_url=reverse("run-entry", args=[run.pk, line.position]),
        digest=line.head,
        tokens=tokens or None,
        cost=now.dollars(micro, known=True) if micro else None,
    )

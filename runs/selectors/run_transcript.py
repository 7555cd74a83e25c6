"""The run's transcript: what was said and done, oldest first, in words with the exact content behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.urls import reverse

from runs import exact, lifecycle, models
from runs.models import cuts
from runs.selectors import (
    attachments,
    deciding,
    keyset,
    now,
    run_asked,
    run_header,
    run_log,
    run_models,
    run_search,
    run_words,
)

SIZE = 50  # each is a dozen or two of nodes, and a page has 1,500 at most
INLINE = 2_000
"""Longest JSON text, in characters, that the page holds whole; what is longer is saved as a file."""
BEGINNING = 600
MAKING = frozenset({lifecycle.EntryKind.INPUT, lifecycle.EntryKind.CORRECTION, lifecycle.EntryKind.RESULT})
"""Lines that bring files; others only name them again."""
BEHIND = 20
"""Lines that a page still has behind the one that was jumped to."""


def page(
    run: models.Run, viewer: deciding.Viewer, params: Mapping[str, str], *, error: str = ""
) -> run_models.TranscriptPage:
    """Return one page of the transcript, or of the lines with the words of `q`."""
    wanted = run_search.words(params.get("q", ""))
    lines, paging = _lines(run, params)
    names = run_log.names(run, lines, viewer=viewer.user)
    files = attachments.of(
        {line.position: line.content for line in lines if line.kind in MAKING}, run_id=run.pk, heads=True
    )
    agent = run.agent_version.agent.title or run.agent_version.agent.name
    starter = names.person(run.created_by.username)
    return run_models.TranscriptPage(
        header=run_header.header(run, viewer, tab="run-transcript"),
        entries=tuple(
            replace(
                _entry(run, line, run_words.said(line, names, agent=agent, starter=starter), wanted),
                files=files.get(line.position, ()),
            )
            for line in lines
        ),
        page=paging,
        query=params.get("q", "")[:500],
        wanted=wanted,
        error=error,
    )


def _lines(run: models.Run, params: Mapping[str, str]) -> tuple[list[run_log.Line], Any]:
    wanted = run_search.words(params.get("q", ""))
    rows = models.Entry.objects.filter(run=run)
    found, paging = keyset.page(
        run_log.cut(run_search.matching(rows, wanted) if wanted else rows),
        by=("position",),
        params=params,
        size=SIZE,
        descending=False,
        keep={"q": params["q"]} if wanted else None,
        total=None if wanted else run.position,
    )
    return [run_log.line(row) for row in found], paging


def around(position: int) -> str:
    """Return the part of an address that leads to a line with what stands around it."""
    return f"?after={position + BEHIND}#e{position}"


def place(run: models.Run, number: str) -> tuple[int, int] | None:
    """Return which run's log has a checkpoint of this run's path, and where in it; None if there is none."""
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        return None
    cut = cuts.find(run, int(number))
    return None if cut is None else (cut.holder, cut.position)


def saved(run: models.Run, params: Mapping[str, str]) -> str:
    """Return the lines of one page as they are stored, one a line; of a huge one its beginning and where it is."""
    lines, _ = _lines(run, params)
    return "".join(
        exact.canonical(
            {
                "run": run.pk,
                "position": line.position,
                "kind": line.kind,
                "at": line.created_at.isoformat(),
                "head": line.head,
                "checkpoint": line.number,
                **(
                    {"content": json.loads(line.text)}
                    if line.whole
                    else {"beginning": line.text, "size": line.size, "whole": _address(run, line)}
                ),
            },
            limit=None,
        )
        + "\n"
        for line in lines
    )


def _address(run: models.Run, line: run_log.Line) -> str:
    return reverse("run-entry", args=[run.pk, line.position])


def _entry(
    run: models.Run, line: run_log.Line, said: run_asked.Said, wanted: tuple[str, ...]
) -> run_models.TranscriptEntry:
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
        raw_url=_address(run, line),
        digest=line.head,
        tokens=tokens or None,
        cost=now.dollars(micro, known=True) if micro else None,
        checkpoint=line.number,
        excerpts=run_search.excerpts(line.content, wanted) if wanted else (),
        around=around(line.position) if wanted else "",
    )

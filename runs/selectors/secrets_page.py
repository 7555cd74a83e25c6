"""What administrators see of secrets: names, where from, who may use them; never a value."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from runs import models
from runs.selectors import keyset, page_models, tools

SIZE = 50


@dataclass(frozen=True, kw_only=True)
class Row:
    """One secret, as far as it may be told."""

    name: str
    source: str
    uses: tuple[str, ...]
    by: str
    at: datetime.datetime
    used: datetime.datetime | None


@dataclass(frozen=True, kw_only=True)
class SecretsPage:
    """One page of them, by name."""

    rows: tuple[Row, ...]
    pages: page_models.Page


def page(params: dict[str, str]) -> SecretsPage:
    """Return the secrets of one page."""
    rows = models.Secret.objects.select_related("changed_by").defer("sealed")
    found, pages = keyset.page(rows, by=("name",), params=params, size=SIZE, descending=False)
    return SecretsPage(rows=tuple(_row(row) for row in found), pages=pages)


def _row(row: models.Secret) -> Row:
    where = {
        models.Secret.Source.TABLE: f"Kept here, encrypted under key {row.key_id}",
        models.Secret.Source.ENVIRONMENT: f"The worker's environment, {row.place}",
        models.Secret.Source.FILE: f"The file {row.place}",
    }
    return Row(
        name=row.name,
        source=where[models.Secret.Source(row.source)],
        uses=tuple(_use(agent, tool) for agent, tool in row.uses),
        by=row.changed_by.display(),
        at=row.changed_at,
        used=row.used_at,
    )


def _use(agent: str, place: str) -> str:
    tool, _, argument = place.partition(":")
    where = (
        f"{tools.title(tool)} ({tool}), argument {argument}" if argument else f"{tools.title(tool)} ({tool})"
    )
    return f"{'Every agent' if agent == '*' else agent} in {where}"

"""What a question has in common with others, as digests written when it opens: by these earlier ones are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runs import exact, models
from runs.models import alike


def shape(action: models.Action, arguments: Any) -> str:
    """Return the digest of tool, contract and the set of argument paths: alike questions are read alike."""
    return exact.digest_of([action.tool, action.contract, sorted(set(_paths("", arguments)))])


def target(action: models.Action) -> str | None:
    """Return the digest of tool and whom or what it reaches, as its preview says; None where it names nothing."""
    return alike.target(action.tool, action.preview)


def same(action: models.Action) -> str:
    """Return the digest of tool and identity: what has it is the same effect, in whatever piece of work."""
    return exact.digest_of([action.tool, action.identity_digest])


def _paths(place: str, value: Any) -> Iterator[str]:
    """Return the place of each value; a list's items share one, so that lists of other lengths are alike."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _paths(f"{place}/{name}", inner)
    elif isinstance(value, list):
        yield f"{place}/-"
        for inner in value:
            yield from _paths(f"{place}/-", inner)
    else:
        yield place

"""What a question has in common with others, as digests written when it opens: by these earlier ones are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runs import exact, models


def shape(action: models.Action, arguments: Any) -> str:
    """Return the digest of tool, contract and the set of argument paths: alike questions are read alike."""
    return exact.digest_of([action.tool, action.contract, sorted(set(_paths("", arguments)))])


def target(action: models.Action) -> str | None:
    """Return the digest of tool and whom or what it reaches, as its preview says; None where it names nothing."""
    return reached(action.tool, action.preview)


def reached(tool: str, preview: Mapping[str, Any] | None) -> str | None:
    """Return the digest of tool and target of what this preview says; None where it names nothing."""
    named = str((preview or {}).get("target") or "").strip().casefold()
    return exact.digest_of([tool, named]) if named else None


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

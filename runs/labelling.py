"""Labels of a run: names with values by which policies, lists and people tell runs apart. Pure.

Whoever starts a run says its labels, so they are claims, not proofs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

LIKE = "like-run"
"""A dry run that was begun to be compared with another run names that run by this label."""
MOST = 16
LONGEST = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,39}")


class BadLabels(ValueError):
    """What was given can't be labels; one sentence."""


def check(given: Mapping[str, str]) -> dict[str, str]:
    """Return the labels by name; refuse (BadLabels) a name or value that can't be one, and too many of them."""
    if len(given) > MOST:
        raise BadLabels(f"These are {len(given)} labels; a run has at most {MOST}.")
    for name, value in given.items():
        if not _NAME.fullmatch(name):
            raise BadLabels(
                f"{name[:60]!r} can't be a label's name: up to 40 letters without accents, digits and . _ - / are."
            )
        if not 1 <= len(value) <= LONGEST or not value.isprintable() or value != value.strip():
            raise BadLabels(f"The label {name!r} needs a value of 1 to {LONGEST} visible characters.")
    return dict(sorted(given.items()))


def of(pairs: Iterable[str]) -> dict[str, str]:
    """Return the labels that are written as `name=value`; refuse (BadLabels) anything else, and a name said twice."""
    found: dict[str, str] = {}
    for text in pairs:
        name, sign, value = text.partition("=")
        if not sign:
            raise BadLabels(f"{text.strip()[:60]!r} is no label; write it as team=dunning.")
        if name.strip() in found:
            raise BadLabels(f"The label {name.strip()!r} is there twice.")
        found[name.strip()] = value.strip()
    return check(found)


def typed(text: str) -> dict[str, str]:
    """Return the labels of a form, one a line. Refuses as `of` does."""
    return of(line for line in text.splitlines() if line.strip())


def written(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the labels as `name=value`, by name."""
    return tuple(f"{name}={value}" for name, value in sorted(labels.items()))

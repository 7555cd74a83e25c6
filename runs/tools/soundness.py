"""What a tool's declaration must hold, checked when it is registered and by `manage.py check`."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from pathlib import PurePath

import pydantic
from django.core import checks
from pydantic.fields import FieldInfo

from runs.tools import contract

_LOOKS_LIKE_A_PATH = re.compile(r"(^|[._])(path|file|filename|file_name|folder|attachments?)$")

_STABLE: frozenset[object] = frozenset({list, dict, set, frozenset, tuple})


def complete(kind: type[contract.Tool]) -> None:
    """Refuse (TypeError, one sentence) a class that lacks what every tool needs."""
    for part in ("name", "effect", "Arguments"):
        if not hasattr(kind, part):
            raise TypeError(f"The tool {kind.__qualname__} needs {part!r}.")
    if kind.run is contract.Tool.run:
        raise TypeError(f"The tool {kind.name!r} has no run().")


def problems(kind: type[contract.Tool]) -> Iterator[checks.CheckMessage]:
    """Yield an error for what would go wrong, and a warning for what makes people be asked more often."""
    fields = kind.Arguments.model_fields
    for part in ("identity", "decisive"):
        for name in getattr(kind, part) or ():
            if name not in fields:
                yield checks.Error(
                    f"{kind.name}: {part} names {name!r}, which is no argument.", id="runs.E001"
                )
    if kind.protection == contract.Protection.LOOKUP and kind.lookup is contract.Tool.lookup:
        yield checks.Error(f"{kind.name}: protection is lookup, but there is no lookup().", id="runs.E002")
    looks_up = kind.undo_protection == contract.Protection.LOOKUP
    if looks_up and kind.undo_lookup is contract.Tool.undo_lookup:
        yield checks.Error(
            f"{kind.name}: the undo's protection is lookup, but there is no undo_lookup().", id="runs.E007"
        )
    for where in _unstable(kind.Arguments, ()):
        yield checks.Error(
            f"{kind.name}: the default of {where!r} is made anew each time, so it can't be approved.",
            hint="Give a constant, or list, dict, set or tuple as default_factory.",
            id="runs.E003",
        )
    if kind.risk() > 1:
        yield from _paths(kind)
    if kind.effect == contract.Effect.READ and kind.risk() != 0:
        yield checks.Error(f"{kind.name}: a tool that reads has tier 0.", id="runs.E004")
    if kind.effect != contract.Effect.READ and kind.risk() not in {1, 2, 3}:
        yield checks.Error(f"{kind.name}: a tool with an effect has tier 1, 2 or 3.", id="runs.E005")
    if kind.risk() >= 2 and kind.identity is None and kind.identity_of is contract.Tool.identity_of:
        yield checks.Warning(
            f"{kind.name}: without an identity, each later attempt of a run asks a person again.",
            hint="Name the arguments that make it the same action, as in identity = ('invoice_no',).",
            id="runs.W001",
        )


def _unstable(model: type[pydantic.BaseModel], path: tuple[str, ...]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        here = (*path, name)
        if not _is_stable(field):
            yield ".".join(here)
        for inner in _models(field.annotation):
            if len(here) < 8:  # a model may hold itself
                yield from _unstable(inner, here)


def _paths(kind: type[contract.Tool]) -> Iterator[checks.CheckMessage]:
    """Yield what names content that may change between approval and execution."""
    hint = "Type it as runs.tools.contract.FileRef: its bytes are kept when the call is proposed."
    for where, annotation in _leaves(kind.Arguments, ()):
        if any(isinstance(part, type) and issubclass(part, PurePath) for part in _parts(annotation)):
            yield checks.Error(
                f"{kind.name}: {where!r} is a bare path; above tier 1 the bytes behind it must be kept.",
                hint=hint,
                id="runs.E006",
            )
        elif str in _parts(annotation) and _LOOKS_LIKE_A_PATH.search(where):
            yield checks.Warning(
                f"{kind.name}: {where!r} looks like the path of a file, and what it names may change after approval.",
                hint=hint,
                id="runs.W002",
            )


def _leaves(model: type[pydantic.BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    for name, field in model.model_fields.items():
        here = (*path, name)
        if contract.FileRef in set(_models(field.annotation)):
            continue
        yield ".".join(here), field.annotation
        for inner in _models(field.annotation):
            if len(here) < 8:
                yield from _leaves(inner, here)


def _parts(annotation: object) -> set[object]:
    """Return an annotation and everything it is made of."""
    return {annotation}.union(*(_parts(inner) for inner in typing.get_args(annotation)))


def _is_stable(field: FieldInfo) -> bool:
    made = field.default_factory
    is_model = isinstance(made, type) and issubclass(made, pydantic.BaseModel)
    return made is None or made in _STABLE or is_model


def _models(annotation: object) -> Iterator[type[pydantic.BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models(inner)

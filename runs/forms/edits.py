"""The edit form: the arguments as fields or as exact JSON, whichever was typed in, and why they are changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runs import exact, patches
from runs.forms import decisions, schemas
from runs.forms.schemas import fields as drawn
from runs.forms.schemas import reading
from runs.tools import problems, registry

FIELDS, JSON = "fields", "json"
SAVE, CHECK, LIVE, TRY = "save", "check", "live", "try"
REDRAW = frozenset({"add", "remove", "up", "down", "reset", "way", "tab"})


@dataclass(frozen=True, kw_only=True)
class About:
    """What the form is about: the tool, and its arguments as they stand."""

    tool: str
    arguments: Any

    def schema(self) -> Mapping[str, Any]:
        """Return the schema of the tool's arguments; one that is gone takes anything, and refuses it later."""
        try:
            return registry.get(self.tool).schema()
        except registry.UnknownTool:
            return {}


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it is drawn or was sent. `arguments` is the value that the tool settles what was typed to."""

    fields: schemas.Field
    tab: str = FIELDS
    text: str = ""
    arguments: Any = None
    reason: str = ""
    revision: int = 0
    digest: str = ""
    token: str = ""
    act: str = ""
    focus: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    changes: tuple[patches.Change, ...] = ()

    @property
    def wants(self) -> str:
        """Return what the pressed button asks for."""
        return self.act.partition(":")[0] or SAVE

    @property
    def redraws(self) -> bool:
        """Return whether the button only changes the form."""
        return self.wants in REDRAW

    @property
    def listed(self) -> dict[str, str]:
        """Return the sentences for the summary, by the id of the control that each is about, each with its label."""
        return schemas.listed(self.fields, self.errors)


def begin(about: About) -> Given:
    """Return the form of the arguments as they stand."""
    return Given(fields=schemas.build(about.schema(), about.arguments), text=drawn.shown(about.arguments))


def read(sent: Mapping[str, Sequence[str]], about: About) -> Given:
    """Return what was sent, with one sentence for each field that can't stay so."""
    schema, act = about.schema(), reading.last(sent, "act") or SAVE
    tab = JSON if reading.last(sent, "tab") == JSON else FIELDS
    reason = (reading.last(sent, "reason") or "").strip()
    errors: dict[str, str] = {}
    value: Any = schemas.MISSING
    if tab == JSON:
        text = reading.last(sent, "arguments") or ""
        fields = schemas.build(schema, about.arguments)
        try:
            value = exact.parse(text)
            fields = schemas.build(schema, value, before=about.arguments)
        except exact.NotExact as error:
            errors["arguments"] = str(error)
    else:
        fields = schemas.read(schema, sent, about.arguments, act=act)
        found = schemas.result(fields)
        value, errors, text = found.value, dict(found.errors), ""
    found_changes: tuple[patches.Change, ...] = ()
    settled: Any = None
    if not errors:
        settled, errors = _settled(about, value, fields, tab)
        found_changes = () if errors else patches.changes(about.arguments, settled)
    verb, _, place = act.partition(":")
    if verb == "tab":
        tab, text, errors = _turned(place, tab, text, value, errors)
    if verb in {SAVE, CHECK, TRY} and not errors and not found_changes:
        errors[""] = "Nothing is changed: these are the arguments as they stand."
    if verb == SAVE:
        errors |= _reason(reason)
    shown = {} if verb in REDRAW and verb != "tab" else errors
    return Given(
        fields=schemas.marked(fields, shown),
        tab=tab,
        text=text,
        arguments=settled,
        reason=reason,
        revision=decisions.number(reading.last(sent, "revision") or ""),
        digest=(reading.last(sent, "digest") or "")[:64],
        token=(reading.last(sent, "token") or "")[:64],
        act=act,
        focus=schemas.focus(verb, place, fields),
        errors=shown,
        changes=found_changes,
    )


def over(given: Given, about: About) -> Given:
    """Return the form with what was typed in it, over arguments that are others by now."""
    if given.arguments is None:
        return given
    fields = schemas.build(about.schema(), given.arguments, before=about.arguments)
    changes = patches.changes(about.arguments, given.arguments)
    return replace(
        given, fields=schemas.marked(fields, {}), text=drawn.shown(given.arguments), changes=changes, token=""
    )


def _settled(about: About, value: Any, fields: schemas.Field, tab: str) -> tuple[Any, dict[str, str]]:
    """Return the value as the tool settles it, and what the tool, or what it has locked, has against it."""
    try:
        found = problems.settle(registry.get(about.tool), value)
    except registry.UnknownTool as error:
        return None, {"": str(error)}
    if found.problems:
        if tab == JSON:
            first, sentence = found.problems[0]
            more = f" (and {len(found.problems) - 1} more)" if len(found.problems) > 1 else ""
            where = ".".join(str(part) for part in first)
            return None, {"arguments": f"{where}: {sentence}{more}" if where else f"{sentence}{more}"}
        return None, schemas.placed(fields, found.problems)
    refusal = problems.locked(about.schema(), about.arguments, found.value)
    return found.value, {"arguments" if tab == JSON else "": refusal} if refusal else {}


def _turned(
    wanted: str, tab: str, text: str, value: Any, errors: dict[str, str]
) -> tuple[str, str, dict[str, str]]:
    """Return the tab that is shown next: the other one, unless what was typed has no value to show there."""
    if value is schemas.MISSING:
        return tab, text, errors
    return (JSON, drawn.shown(value), {}) if wanted == JSON else (FIELDS, text, errors)


def _reason(reason: str) -> dict[str, str]:
    if not reason:
        return {"reason": "Say why you change it; the agent and the auditors read the reason."}
    if len(reason) > decisions.LONGEST:
        long = f"{len(reason):,} characters; at most {decisions.LONGEST:,} are kept"
        return {"reason": f"This is too long: {long}."}
    return {"reason": "This holds a NUL character, which can't be kept."} if "\x00" in reason else {}

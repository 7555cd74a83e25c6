"""The form of an agent: its document as fields or as YAML, why it is changed, and the version that it was made from.

The YAML is what counts. Fields are sent with the text that they were drawn from, and what was typed in them is put into
that text; so nothing is lost on the way between the two, nor what no field can show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs import agent_checks, agent_files, exact
from runs.forms import agent_driver, agent_fields, agent_rows, decisions
from runs.forms.schemas import reading
from runs.providers import declared, llm

SAVE, TRY, LIVE, CHECK, DRAFT = "save", "try", "live", "check", "draft"
"""Put it in use, keep it to be tried out, look what is different, say what doesn't fit, draw what was kept."""
FORM, YAML = "form", "yaml"
_ASKS = frozenset({SAVE, TRY, LIVE, CHECK})
"""The buttons after which it is said what doesn't fit; the others only draw the form anew."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it is drawn or was sent. `agent` is what the text describes, None where it describes none."""

    text: str
    tab: str = FORM
    form: agent_fields.AgentForm | None = None  # None beside the YAML
    aside: Mapping[str, Any] = field(default_factory=dict)
    base: int = 0
    reason: str = ""
    act: str = ""
    focus: str = ""
    agent: declared.Agent | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def verb(self) -> str:
        """Return what the pressed button asks for."""
        return self.act.partition(":")[0]

    @property
    def todo(self) -> tuple[tuple[str, str], ...]:
        """Return what stands against it, by the field's name."""
        return tuple((self.errors or self.missing).items())

    @property
    def kept_aside(self) -> str:
        """Return what was said for other providers, as it is sent along."""
        return exact.canonical(self.aside, limit=None) if self.aside else ""


def begin(agent: declared.Agent | None, *, base: int) -> Given:
    """Return the form of an agent's newest version, or of a new agent."""
    if agent is not None:
        text = agent_files.write(agent)
    else:
        text = agent_files.BEGIN_MODEL if llm.installed() else agent_files.BEGIN
    document = agent_files.document(text)
    return Given(text=text, base=base, agent=agent, form=agent_fields.shown(document, {}))


def read(sent: Mapping[str, Sequence[str]], *, name: str = "") -> Given:
    """Return what was sent, changed as the pressed button asks; an agent that is there keeps its `name`."""
    act = reading.last(sent, "act") or ""
    verb, _, place = act.partition(":")
    text = (reading.last(sent, "text") or "").replace("\r\n", "\n")
    fields = reading.last(sent, "tab") == FORM
    given: dict[str, Any] = {
        "base": decisions.number(reading.last(sent, "base") or ""),
        "reason": reading.last(sent, "reason") or "",
        "act": act if verb in {SAVE, TRY, CHECK, DRAFT, "tab", "add", "drop"} else LIVE,
    }
    aside = agent_driver.aside(reading.last(sent, "aside") or "")
    try:
        document = agent_files.document(text)
    except agent_files.BadAgent as error:
        return Given(**given, text=text, tab=YAML, aside=aside, errors={"text": str(error)})
    empty, doubles = dict[str, int](), dict[str, str]()
    if fields:
        taken = agent_fields.take(document, aside, sent, drop=_row(place) if verb == "drop" else ("", 0))
        document, aside, empty, doubles = (
            taken.document,
            dict(taken.aside),
            dict(taken.empty),
            dict(taken.errors),
        )
        text = agent_files.rewritten(text, document)
    tab = _tab(verb, place, fields=fields)
    focus = _pressed(verb, place, empty)
    if tab == YAML:
        errors, agent = _of_text(text, name=name)
        shown = None
    else:
        shown = agent_fields.shown(document, aside, empty=empty)
        errors = {**agent_fields.errors(document, shown), **_renamed(document, name), **doubles}
        agent = None if errors else agent_checks.made(document)
    asked = verb in _ASKS or given["act"] == LIVE
    return Given(
        **given,
        text=text,
        tab=tab,
        form=shown,
        aside=aside,
        focus=focus,
        agent=agent,
        errors=errors if asked else {},
        missing={} if asked else errors,
    )


def _tab(verb: str, place: str, *, fields: bool) -> str:
    if verb == "tab":
        return YAML if place == YAML else FORM
    return FORM if fields else YAML


def _row(place: str) -> tuple[str, int]:
    which, _, number = place.partition(":")
    return which, decisions.number(number)


def _pressed(verb: str, place: str, empty: dict[str, int]) -> str:
    """Add the row that a button asks for, and return where to go on."""
    if verb == "add" and place in agent_rows.CHOICES:
        empty[place] = empty.get(place, 0) + 1
        return f"{place}-new"
    return {"tab": "tab", "drop": f"{_row(place)[0]}-add"}.get(verb, "")


def _of_text(text: str, *, name: str) -> tuple[dict[str, str], declared.Agent | None]:
    try:
        agent = agent_files.read(text)
    except agent_files.BadAgent as error:
        return {"text": str(error)}, None
    renamed = _renamed({"name": agent.name}, name)
    return ({"text": renamed["name"]}, None) if renamed else ({}, agent)


def _renamed(document: Mapping[str, Any], name: str) -> dict[str, str]:
    if not name or document.get("name") in {name, None, ""}:
        return {}
    return {"name": f"This is a version of {name!r}, which keeps its name; make a new agent for another one."}

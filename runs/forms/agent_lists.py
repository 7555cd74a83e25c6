"""The fields of an input and of a result as they are drawn: each row with its names and types, and new ones behind."""

from __future__ import annotations

from dataclasses import dataclass

from runs.forms import agent_rows
from runs.forms.agent_rows import INPUT, OUTPUT, Row, Rows

WORDS = {
    "text": "Text", "whole": "Whole number", "number": "Number", "yes": "Yes or no", "date": "Date", "file": "File",
    "texts": "List of texts", "": "As the YAML says",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """One row as it is drawn, with its number from 1 and the types that it can have."""

    which: str
    number: int
    row: Row
    last: bool = False

    @property
    def key(self) -> str:
        """Return what the names of its controls begin with."""
        return f"{self.which}-{self.number}"

    @property
    def name(self) -> str:
        """Return the name of the control for its name."""
        return agent_rows.name_of(self.which, self.number, "name")

    @property
    def focus(self) -> str:
        """Return by what the form finds it, if it was just added."""
        return f"{self.which}-new" if self.last and not self.row.was else f"{self.key}-row"

    @property
    def types(self) -> tuple[tuple[str, str], ...]:
        """Return the types by value and name: the usual ones, and the one that it has."""
        usual = agent_rows.CHOICES[self.which]
        return tuple((value, WORDS[value]) for value in (*usual, *({self.row.type} - set(usual))))


@dataclass(frozen=True, kw_only=True)
class List:
    """The rows of an input or a result as they are drawn; not `known` where the schema is no list of fields."""

    which: str
    title: str
    hint: str
    icon: str
    label: str
    rows: tuple[Drawn, ...] = ()
    more: tuple[str, ...] = ()
    known: bool = True
    full: bool = False

    @property
    def count(self) -> int:
        """Return how many rows there are."""
        return len(self.rows)

    @property
    def focus(self) -> str:
        """Return by what the form finds the button that adds a row."""
        return f"{self.which}-add"


_TOLD = {
    INPUT: (
        "What it is given", "inbox", "the input",
        "Fields that are filled in where a run starts. A model and a playbook find them by name.",
    ),
    OUTPUT: (
        "What it gives back", "send", "the result",
        "Fields of the result that the model must give at the end. Without any it may give what it likes.",
    ),
}  # fmt: skip


def drawn(which: str, found: Rows | None, *, empty: int) -> List:
    """Return rows as they are drawn, with so many empty ones behind them."""
    title, icon, label, hint = _TOLD[which]
    rows: tuple[Row, ...] = (*(found.rows if found else ()), *(Row() for _ in range(empty)))
    return List(
        which=which,
        title=title,
        hint=hint,
        icon=icon,
        label=label,
        rows=tuple(
            Drawn(which=which, number=number, row=row, last=number == len(rows))
            for number, row in enumerate(rows[: agent_rows.MOST], 1)
        ),
        more=found.more if found else (),
        known=found is not None,
        full=len(rows) >= agent_rows.MOST,
    )

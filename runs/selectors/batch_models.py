"""What the pages about many questions at once show. Conventions as in `page_models`."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from runs.selectors.page_models import Fact
from runs.selectors.review_models import Came, Preview


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One value under its column."""

    column: str
    text: str
    long: bool  # it is read as a text, not at a glance
    whole: str  # the whole of what `text` is only the beginning of, else empty


@dataclass(frozen=True, kw_only=True)
class Item:
    """One question of a group. `seen` is what its form carries: exactly what is shown here."""

    review_id: int
    effect: str
    run_title: str
    cells: tuple[Cell, ...]  # the values under the group's columns
    preview: Preview
    arguments: str  # the stored canonical JSON text, whole
    digest: str
    decisive: tuple[str, ...]
    seen: str
    ticked: bool = False
    changed: bool = False  # since it was ticked: it has to be looked at again


@dataclass(frozen=True, kw_only=True)
class Group:
    """Questions of one shape: same tool, contract and set of argument paths, and one tier."""

    number: int
    tool: str
    tier: int
    most: int  # so many can be approved at once
    columns: tuple[str, ...]  # the arguments that differ
    same: tuple[Fact, ...]  # the arguments that are the same in all
    items: tuple[Item, ...]
    reason_required: bool
    each_opened: bool  # every one has to be opened to be ticked
    undo_seconds: float

    @property
    def rest(self) -> tuple[int, ...]:
        """Return the numbers of its questions."""
        return tuple(item.review_id for item in self.items)


@dataclass(frozen=True, kw_only=True)
class Alone:
    """A question that was selected but is decided by itself, or not at all, and why."""

    review_id: int
    effect: str
    tier: int
    kind: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What was typed and ticked, drawn again after a refusal."""

    group: int = 0
    reason: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    unfolded: tuple[str, ...] = ()  # parts of the page that were open


@dataclass(frozen=True, kw_only=True)
class BatchPage:
    groups: tuple[Group, ...]
    alone: tuple[Alone, ...]
    asked: tuple[int, ...]  # all that were selected
    back: str = ""  # query string of the list that the person came from

    @property
    def query(self) -> str:
        """Return the query string of this page, which a refused answer keeps."""
        selected = [("review", str(number)) for number in self.asked]
        return urlencode([*selected, *([("from", self.back)] if self.back else [])])


@dataclass(frozen=True, kw_only=True)
class Line:
    """What became of one question."""

    review_id: int
    effect: str
    done: bool
    words: str
    undo_left: float = 0.0
    came: Came | None = None


@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of each question of a batch, and which of the others are still to be looked at."""

    lines: tuple[Line, ...]
    others: tuple[int, ...]
    back: str = ""

    @property
    def decided(self) -> int:
        """Return how many were decided."""
        return sum(line.done for line in self.lines)

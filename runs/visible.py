"""Makes every character of an untrusted text visible: pure, imports nothing of ours.

`segments(text)` cuts a text into runs of plain text and runs of characters that a reader can't see, can't
tell apart or that change how the rest is read. Joining `source` of all segments gives the text back.
"""

import enum
import functools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

SPACES_SHOWN = 8
BREAKS_SHOWN = 6
MARKS_ALLOWED = 3


class Kind(enum.StrEnum):
    TEXT = "text"
    BIDI = "bidi"  # changes the reading direction
    INVISIBLE = "invisible"  # has no shape: zero width, joiners, tags, variation selectors
    CONTROL = "control"  # C0 and C1 codes but the line break
    TAB = "tab"
    BREAK = "break"  # a line or paragraph separator, or a long run of line breaks
    SPACE = "space"  # a space that isn't the usual one, or a long run of spaces
    UNKNOWN = "unknown"  # private use or unassigned: every font shows something else
    BROKEN = "broken"  # half of a surrogate pair
    MARKS = "marks"  # combining marks without a letter, or piled up
    MIXED = "mixed"  # letters of several scripts in one word, or lookalikes


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """`source` is the text itself; `mark` a short name such as `U+202E`, `label` the sentence behind it."""

    kind: Kind
    source: str
    mark: str = ""
    label: str = ""
    count: int = 1


_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_IGNORABLE_RANGES = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_IGNORABLE = "".join(f"{chr(first)}-{chr(last)}" for first, last in _IGNORABLE_RANGES)
_HAS_IGNORABLE = re.compile(f"[{_IGNORABLE}]")
_TOKEN = re.compile(
    rf"(?P<spaces>[ ]{{{SPACES_SHOWN},}})|(?P<breaks>\n{{{BREAKS_SHOWN},}})"
    rf"|(?P<special>[{_IGNORABLE}]|[^\w\n\x20-\x7e])(?P=special)*|(?P<word>[^\W{_IGNORABLE}]+)"
)
_PLAIN = re.compile(r"[\n\x20-\x7e]*")
_GAP = " " * SPACES_SHOWN
_BREAKS = "\n" * BREAKS_SHOWN
_ASCII_TOKEN = re.compile(
    rf"(?P<spaces>[ ]{{{SPACES_SHOWN},}})|(?P<breaks>\n{{{BREAKS_SHOWN},}})"
    r"|(?P<special>[^\n\x20-\x7e])(?P=special)*"
)
# Letters that look like a Latin one in every common font; a word made of nothing else passes for Latin.
_LOOKALIKES = frozenset(
    "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0430"
    "\u0435\u0456\u0458\u043e\u0440\u0441\u0443\u0445\u0455\u04bb\u0501\u051b\u051d\u04cf\u050c\u051c"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd"
    "\u03c5\u0555\u054d\u0578\u057d\u0585\u0581\u0570\u13aa\u13ac\u13a2\u13f4\u13df\u13c3"
)
_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
)
_SCRIPT_WORDS = {"MODIFIER": "", "IDEOGRAPHIC": "CJK", "HALFWIDTH": "KATAKANA", "KATAKANA-HIRAGANA": ""}
_CONTROL_NAMES = {0: "NULL", 7: "BELL", 8: "BACKSPACE", 13: "CARRIAGE RETURN", 27: "ESCAPE", 127: "DELETE"}
_SENTENCES = {
    Kind.BIDI: (
        "character that changes the reading direction",
        "characters that change the reading direction",
    ),
    Kind.INVISIBLE: ("invisible character", "invisible characters"),
    Kind.CONTROL: ("control character", "control characters"),
    Kind.BREAK: ("unusual line break", "unusual line breaks"),
    Kind.SPACE: ("unusual space or long gap", "unusual spaces or long gaps"),
    Kind.UNKNOWN: ("character without a common shape", "characters without a common shape"),
    Kind.BROKEN: ("broken half character", "broken half characters"),
    Kind.MARKS: ("stray or piled-up accent", "stray or piled-up accents"),
    Kind.MIXED: ("word with letters that imitate others", "words with letters that imitate others"),
}


def name_of(character: str) -> str:
    """The Unicode name, or what can be said where there is none."""
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return "HALF OF A SURROGATE PAIR"
    if code in _CONTROL_NAMES:
        return _CONTROL_NAMES[code]
    try:
        return unicodedata.name(character)
    except ValueError:
        return {"Cc": "CONTROL CODE", "Co": "PRIVATE USE"}.get(unicodedata.category(character), "UNASSIGNED")


def mark_of(character: str) -> str:
    return f"U+{ord(character):04X}"


@functools.lru_cache(maxsize=8192)
def _script(letter: str) -> str:
    """The script of a letter by the first word of its name; empty for digits and what has no name."""
    if not unicodedata.category(letter).startswith("L"):
        return ""
    first = unicodedata.name(letter, "").partition(" ")[0]
    if letter in "\u00aa\u00ba\u00b5":
        return "LATIN"
    return {"MODIFIER": "", "IDEOGRAPHIC": "CJK", "HALFWIDTH": "KATAKANA", "KATAKANA-HIRAGANA": ""}.get(
        first, first
    )


@functools.lru_cache(maxsize=4096)
def _kind(character: str) -> Kind:
    """What a single character outside of words is."""
    category = unicodedata.category(character)
    if character == "\t":
        return Kind.TAB
    if character in _BIDI:
        return Kind.BIDI
    if category == "Cs":
        return Kind.BROKEN
    if _HAS_IGNORABLE.match(character) or category == "Cf":
        return Kind.INVISIBLE
    if category == "Cc":
        return Kind.CONTROL
    if category in {"Zl", "Zp"}:
        return Kind.BREAK
    if category == "Zs":
        return Kind.SPACE
    if category in {"Co", "Cn"}:
        return Kind.UNKNOWN
    return Kind.MARKS if category in {"Mn", "Me"} else Kind.TEXT


def _title(scripts: list[str]) -> str:
    return " and ".join(script.capitalize() for script in scripts)


def _word(word: str, *, latin_text: bool) -> Segment:
    """A word: plain, or flagged when its letters come from several scripts or imitate another one."""
    odd: dict[str, str] = {}
    scripts: list[str] = []
    for letter in word:
        script = "LATIN" if letter.isascii() and letter.isalpha() else _script(letter)
        if script and script not in scripts:
            scripts.append(script)
        if script not in {"", "LATIN"}:
            odd[letter] = script
    label = ""
    if "FULLWIDTH" in scripts or "MATHEMATICAL" in scripts or "KELVIN" in scripts or "ANGSTROM" in scripts:
        label = "letters that imitate plain ones"
    elif len(scripts) > 1 and not any(set(scripts) <= group for group in _TOGETHER):
        label = f"{_title(scripts)} letters in one word"
    elif latin_text and odd and all(letter in _LOOKALIKES or not letter.isalpha() for letter in word):
        label = f"{_title(scripts)} letters that look like Latin ones"
    if not label:
        return Segment(kind=Kind.TEXT, source=word)
    shown = ", ".join(f"{mark_of(letter)} {name_of(letter)}" for letter in list(odd)[:4])
    return Segment(kind=Kind.MIXED, source=word, mark="lookalike", label=f"{label}: {shown}")


@functools.lru_cache(maxsize=4096)
def _special(token: str) -> Segment:
    """A run of one character that isn't part of a word."""
    kind = _kind(token[0])
    if kind is Kind.TEXT:
        return Segment(kind=kind, source=token)
    mark = "tab" if kind is Kind.TAB else mark_of(token[0])
    return Segment(kind=kind, source=token, mark=mark, label=name_of(token[0]), count=len(token))


def _gap(token: str) -> Segment:
    if token[0] == " ":
        return Segment(kind=Kind.SPACE, source=token, mark=f"{len(token)} spaces", label="a long gap")
    mark = f"{len(token)} line breaks"
    return Segment(kind=Kind.BREAK, source=token, mark=mark, label="a long empty stretch")


def _pieces(text: str) -> Iterator[Segment]:
    ascii_only = text.isascii()
    latin_text = not ascii_only and re.search("[A-Za-z]", text) is not None
    position = 0
    marks = 0  # combining marks since the last letter
    based = False  # is there something that a combining mark can sit on
    for match in (_ASCII_TOKEN if ascii_only else _TOKEN).finditer(text):
        if match.start() > position:
            yield Segment(kind=Kind.TEXT, source=text[position : match.start()])
            marks, based = 0, not text[match.start() - 1].isspace()
        position = match.end()
        token = match[0]
        if match["spaces"] or match["breaks"]:
            yield _gap(token)
            based = False
        elif match["special"]:
            piece = _special(token)
            if piece.kind is Kind.MARKS:
                marks += piece.count
                if based and marks <= MARKS_ALLOWED:
                    piece = Segment(kind=Kind.TEXT, source=token)
            else:
                marks, based = 0, piece.kind is Kind.TEXT
            yield piece
        else:
            yield (
                Segment(kind=Kind.TEXT, source=token)
                if token.isascii()
                else _word(token, latin_text=latin_text)
            )
            marks, based = 0, True
    if position < len(text):
        yield Segment(kind=Kind.TEXT, source=text[position:])


def is_plain(text: str) -> bool:
    """Whether nothing in the text needs a mark; quick, for ASCII only."""
    return _PLAIN.fullmatch(text) is not None and _GAP not in text and _BREAKS not in text


def segments(text: str) -> list[Segment]:
    """The text in order, plain runs joined, equal neighbours counted; `source` joined gives `text` back."""
    result: list[Segment] = []
    plain: list[str] = []
    for piece in _pieces(text):
        if piece.kind is Kind.TEXT:
            plain.append(piece.source)
            continue
        if plain:
            result.append(Segment(kind=Kind.TEXT, source="".join(plain)))
            plain.clear()
        result.append(piece)
    if plain:
        result.append(Segment(kind=Kind.TEXT, source="".join(plain)))
    return result


def warnings(text: str) -> list[str]:
    """One short sentence per kind of trick found, the worst first; empty for plain text and for tabs."""
    if is_plain(text):
        return []
    counts: dict[Kind, int] = {}
    marks: dict[Kind, list[str]] = {}
    for segment in segments(text):
        if segment.kind in _SENTENCES:
            counts[segment.kind] = counts.get(segment.kind, 0) + segment.count
            seen = marks.setdefault(segment.kind, [])
            if segment.mark not in seen and len(seen) < 3:
                seen.append(segment.mark)
    sentences = []
    for kind, (one, many) in _SENTENCES.items():
        if count := counts.get(kind):
            sentences.append(f"{count:,} {one if count == 1 else many} ({', '.join(marks[kind])})")
    return sentences

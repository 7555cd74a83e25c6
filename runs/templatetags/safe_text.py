"""Text of agents, tools and models, shown so that nothing in it can hide, mislead or act."""

import html
import itertools
from collections.abc import Iterable, Iterator

from django import template
from django.contrib.messages.storage.base import Message
from django.utils.safestring import SafeString, mark_safe

from runs import json_lines, visible

register = template.Library()

CHUNK = 200
DEEPEST = 12


def _badge(segment: visible.Segment) -> str:
    mark = segment.mark if segment.count == 1 else f"{segment.mark} \N{MULTIPLICATION SIGN}{segment.count:,}"
    label = html.escape(segment.label)
    return (
        f'<span class="vis vis-{segment.kind}" title="{label}">{html.escape(mark)}'
        f'<span class="visually-hidden"> {label}</span></span>'
    )


def render(text: str) -> str:
    """HTML of a text: escaped, with a badge in place of each character that can't be seen as it is."""
    if visible.is_plain(text):
        return html.escape(text)
    parts: list[str] = []
    for segment in visible.segments(text):
        if segment.kind is visible.Kind.TEXT:
            parts.append(html.escape(segment.source))
        elif segment.kind is visible.Kind.MIXED:
            parts.append(f'<span class="vis-word">{html.escape(segment.source)}</span>{_badge(segment)}')
        elif segment.kind is visible.Kind.BREAK:
            parts.append(_badge(segment) + "\n")
        elif segment.kind is visible.Kind.TAB:
            parts.append(_badge(segment) + " ")
        else:
            parts.append(_badge(segment))
    return "".join(parts)


def plain(text: str) -> str:
    """The text for an attribute, where no badge can stand: the mark in place of each character that can't be seen."""
    kept = {visible.Kind.TEXT, visible.Kind.MIXED}
    return "".join(part.source if part.kind in kept else part.mark for part in visible.segments(text))


@register.filter
def safe_text(value: object) -> SafeString:
    """`{{ untrusted|safe_text }}`: visible escapes and HTML escaping; None is an empty string."""
    return mark_safe("" if value is None else render(str(value)))  # noqa: S308  every piece is escaped in render


@register.filter
def safe_attribute(value: object) -> str:
    """`title="{{ untrusted|safe_attribute }}"`: the same for an attribute, which holds no markup."""
    return "" if value is None else plain(str(value))


@register.filter
def safe_sentences(values: Iterable[object]) -> str:
    """`data-say="{{ sentences|safe_sentences }}"`: several in one attribute."""
    return " ".join(plain(str(value)) for value in values)


@register.filter
def safe_message(value: Message) -> SafeString:
    """`{{ message|safe_message }}`: markup of our own stays; any other text is shown as `safe_text` shows it."""
    said = value.message
    return said if isinstance(said, SafeString) else safe_text(said)


@register.filter
def text_warnings(value: object) -> list[str]:
    """Sentences about hidden or imitated characters in a text."""
    return [] if value is None else visible.warnings(str(value))


@register.filter
def json_warnings(value: str) -> list[str]:
    """The same for all keys and strings of a JSON text, whose escapes would hide them from a plain look."""
    parts = {json_lines.Part.STRING, json_lines.Part.KEY, json_lines.Part.RAW}
    found = (token.text for line in json_lines.lines(value) for token in line.tokens if token.part in parts)
    return visible.warnings("\n".join(found))


@register.filter
def json_text(value: str) -> SafeString:
    """A stored JSON text laid out in lines, all of it as one piece of text: for where many stand on a page."""
    rows = []
    for line in json_lines.lines(value):
        parts = (
            "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}"
            if token.part is json_lines.Part.BREAK
            else render(token.text)
            for token in line.tokens
        )
        rows.append("  " * line.depth + "".join(parts))
    return mark_safe("\n".join(rows))  # noqa: S308  every piece is escaped in render


def _line(line: json_lines.Line, *, decisive: set[str], changed: set[str]) -> str:
    names = ["line", f"depth-{min(line.depth, DEEPEST)}"]
    note = ""
    if line.top in decisive:
        names.append("decisive")
    if line.top in changed:
        names.append("changed")
        note = '<span class="visually-hidden">changed: </span>'
    if line.continued:
        names.append("continued")
    body: list[str] = []
    for token in line.tokens:
        if token.part is json_lines.Part.PUNCTUATION:
            body.append(html.escape(token.text))
        elif token.part is json_lines.Part.BREAK:
            body.append('<span class="j-break" title="line break">↵</span>')
        else:
            body.append(f'<span class="j-{token.part}">{render(token.text)}</span>')
    return f'<div class="{" ".join(names)}"><code>{note}{"".join(body)}</code></div>'


def _chunks(lines: list[json_lines.Line]) -> Iterator[list[json_lines.Line]]:
    iterator = iter(lines)
    while chunk := list(itertools.islice(iterator, CHUNK)):
        yield chunk


@register.simple_tag
def exact_json(
    text: str, *, decisive: Iterable[str] = (), changed: Iterable[str] = (), label: str = "Exact arguments"
) -> SafeString:
    """The stored JSON text in numbered lines, whole; `decisive` and `changed` name arguments to mark.

    Beyond the first 200 lines further parts are folded; a decision form asks for each to be opened first.
    """
    lines = json_lines.lines(text)
    decided, altered = set(decisive), set(changed)
    parts = [f'<div class="exact" role="group" aria-label="{html.escape(plain(label))}" translate="no">']
    first = 1
    for index, chunk in enumerate(_chunks(lines)):
        rows = "".join(_line(line, decisive=decided, changed=altered) for line in chunk)
        last = first + len(chunk) - 1
        if index == 0:
            parts.append(f'<div class="exact-lines">{rows}</div>')
        else:
            parts.append(
                f'<details class="exact-more" data-must-open>'
                f"<summary>Lines {first:,} to {last:,} of {len(lines):,}</summary>"
                f'<div class="exact-lines">{rows}</div></details>'
            )
        first = last + 1
    parts.append("</div>")
    return mark_safe("".join(parts))  # noqa: S308  built from escaped pieces above

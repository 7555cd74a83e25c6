"""Small words and marks of the review desk: icons, tiers, status chips, times, money."""

import datetime
import decimal
import functools
import importlib.metadata
from collections.abc import Mapping
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs import measures

register = template.Library()

TIERS = {
    0: ("eye", "Reads only", "Looks something up and changes nothing."),
    1: ("undo-2", "Can be undone", "Changes something that can be put back."),
    2: ("send", "Goes out", "Reaches people or systems outside; costly to undo."),
    3: ("flag", "Final", "Can't be undone once it is done."),
}
# Word, tone and icon for each status that a page shows; reviewer words, never the engine's.
STATUSES: dict[str, dict[str, tuple[str, str, str]]] = {
    "run": {
        "queued": ("Queued", "quiet", "clock"),
        "running": ("Running", "busy", "activity"),
        "waiting": ("Waiting for a person", "ask", "hourglass"),
        "handed": ("Waiting for another run", "busy", "hourglass"),
        "paused": ("Paused", "quiet", "circle-pause"),
        "succeeded": ("Done", "good", "circle-check"),
        "failed": ("Failed", "bad", "circle-alert"),
        "cancelled": ("Stopped", "quiet", "circle-stop"),
    },
    "action": {
        "proposed": ("Proposed", "quiet", "circle-dashed"),
        "held": ("Waiting for approval", "ask", "hourglass"),
        "approved": ("Approved, not started", "busy", "shield-check"),
        "intent": ("Being done now", "busy", "activity"),
        "succeeded": ("Done", "good", "circle-check"),
        "absorbed": ("Done earlier, not repeated", "good", "layers"),
        "simulated": ("Tried out, nothing sent", "quiet", "eye"),
        "denied": ("Blocked by policy", "bad", "ban"),
        "rejected": ("Rejected", "bad", "circle-x"),
        "expired": ("Nobody answered in time", "quiet", "clock"),
        "superseded": ("Not done", "quiet", "skip-forward"),
        "failed": ("Did not happen", "bad", "circle-alert"),
        "in_doubt": ("May have happened", "doubt", "circle-question-mark"),
        "abandoned": ("Never found out", "doubt", "circle-question-mark"),
    },
    "effect": {
        "open": ("Being done now", "busy", "activity"),
        "standing": ("Happened", "good", "circle-check"),
        "void": ("Did not happen", "quiet", "circle-x"),
        "unknown": ("Unknown", "doubt", "circle-question-mark"),
        "undone": ("Undone", "quiet", "undo-2"),
    },
    "answer": {  # what a person did with their own approval; no status of its own
        "withdrawn": ("Taken back", "quiet", "undo-2"),
    },
    "review": {
        "open": ("Waiting for you", "ask", "hourglass"),
        "noted": ("Waits for somebody else", "ask", "hourglass"),  # open still, seen by who has approved it
        "approved": ("Approved", "good", "circle-check"),
        "rejected": ("Rejected", "bad", "circle-x"),
        "answered": ("Answered", "good", "circle-check"),
        "expired": ("Nobody answered in time", "quiet", "clock"),
        "settled": ("Found out meanwhile", "good", "circle-check"),
        "superseded": ("No longer asked", "quiet", "skip-forward"),
    },
    "kind": {
        "action": ("Approval", "ask", "shield"),
        "plan": ("Plan", "ask", "list-todo"),
        "question": ("Question", "ask", "message-square"),
        "in_doubt": ("Did it happen?", "doubt", "circle-question-mark"),
        "budget": ("Budget", "ask", "banknote"),
        "failure": ("Run failed", "bad", "circle-alert"),
    },
    "step": {
        "pending": ("To do", "quiet", "circle-dashed"),
        "active": ("Now", "busy", "circle-dot"),
        "done": ("Done", "good", "circle-check"),
        "skipped": ("Skipped", "quiet", "skip-forward"),
        "refused": ("Not done", "bad", "circle-x"),
        "failed": ("Failed", "bad", "circle-alert"),
    },
}
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£"}


@register.simple_tag
@functools.lru_cache(maxsize=512)  # a long list draws the same few thousands of times
def icon(name: str, label: str = "") -> SafeString:
    """An icon of the sprite; decoration unless it gets a label."""
    sprite = static("icons/sprite.svg")
    if label:
        return format_html(
            '<svg class="icon" role="img" aria-label="{}"><use href="{}#{}"/></svg>', label, sprite, name
        )
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', sprite, name)


@register.simple_tag
def tier(number: int) -> SafeString:
    """The badge of a risk tier: number, words and icon, so that it never speaks by colour alone."""
    name, words, sentence = TIERS[number]
    return format_html(
        '<span class="tier tier-{}" title="{}">{}<b>Tier {}</b> {}</span>',
        number, sentence, icon(name), number, words,
    )  # fmt: skip


@register.filter
def tier_sentence(number: int) -> str:
    return TIERS[number][2]


@register.simple_tag
def status(value: str, family: str = "run") -> SafeString:
    """The chip of a status; `family` is run, action, effect, review, kind or step."""
    words, tone, name = STATUSES[family].get(str(value), (str(value), "quiet", "circle-dashed"))
    return format_html('<span class="chip chip-{}">{}{}</span>', tone, icon(name), words)


@register.filter
def status_words(value: str, family: str = "run") -> str:
    return STATUSES[family].get(str(value), (str(value), "", ""))[0]


@register.simple_tag
def when(moment: datetime.datetime | None, empty: str = "never") -> SafeString | str:
    """A <time>: the exact time as text, which the page turns into "5 min ago" where scripts run."""
    if moment is None:
        return empty
    local = timezone.localtime(moment)
    exact = date_format(local, "j M Y, H:i")
    zone = local.tzname() or ""
    return format_html(
        '<time datetime="{}" title="{} {}" data-relative>{}</time>',
        moment.isoformat(timespec="milliseconds"),
        exact,
        zone,
        exact,
    )


@register.simple_tag
def moment(at: datetime.datetime | None, empty: str = "never") -> SafeString | str:
    """A <time> for paper: to the second and with its zone, whenever it is read."""
    if at is None:
        return empty
    local = timezone.localtime(at)
    words = f"{date_format(local, 'j M Y, H:i:s')} {local.tzname() or ''}".strip()
    return format_html('<time datetime="{}">{}</time>', at.isoformat(timespec="milliseconds"), words)


@register.filter
def money(amount: decimal.Decimal | None, currency: str = "USD") -> str:
    """An amount with as many decimals as it needs (two at least, six at most); None is "unknown"."""
    if amount is None:
        return "unknown"
    value = decimal.Decimal(amount)
    shown = value.quantize(decimal.Decimal("0.000001")).normalize()
    exponent = shown.as_tuple().exponent
    places = max(2, -exponent if isinstance(exponent, int) else 2)
    text = number_format(value, decimal_pos=places, force_grouping=True)
    symbol = _SYMBOLS.get(currency)
    return f"{symbol}{text}" if symbol else f"{text} {currency}"


@register.filter
def count(number: int | None) -> str:
    """A whole number with thousands marks; None is "no limit"."""
    return "no limit" if number is None else number_format(number, decimal_pos=0, force_grouping=True)


@register.filter
def upto(number: int, most: int) -> str:
    """A whole number that was counted up to some only: of more it says so."""
    return count(number) if number <= most else f"{count(most)}+"


@register.filter
def seconds(value: float | None) -> str:
    """A duration in the largest two units that matter."""
    return "no limit" if value is None else measures.span(value)


@register.filter
def at(values: Mapping[str, Any], key: str) -> Any:
    """The value under a key that isn't a name: `errors|at:field.name`; nothing where there is none."""
    return values.get(key, "")


@register.filter
def coordinate(value: float) -> str:
    """A number of an SVG attribute: with a point, whatever the language."""
    return f"{value:.1f}"


@register.filter
def short_hash(value: str) -> str:
    """The first twelve signs of a digest: enough to compare by eye; the whole one stands in the title."""
    return value[:12]


@register.simple_tag(takes_context=True)
def theme(context: dict[str, Any]) -> str:
    """The stored choice (light or dark), or empty to follow the system."""
    request = context.get("request")
    chosen = request.COOKIES.get("theme", "") if request is not None else ""
    return chosen if chosen in {"light", "dark"} else ""


@register.simple_tag
@functools.cache
def product_version() -> str:
    try:
        return importlib.metadata.version("ckptsite")
    except importlib.metadata.PackageNotFoundError:
        return "from source"

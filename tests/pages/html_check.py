"""The Nu HTML checker: found or fetched, and run once over many pages."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

VERSION = "26.9.27"
CACHE = Path(__file__).parents[2] / ".pytest_cache" / "vnu"
_APT = ("apt-get", "-o", "DPkg::Lock::Timeout=120", "-qq")
_OWN = re.compile(r"Attribute .(hx-[a-z0-9:.-]+). not allowed")
"""Attributes of htmx are none of HTML's; everything else has to be."""


class MissingError(Exception):
    """The checker, or Java to run it, is not here and can't be brought."""


def problems(pages: Mapping[str, str]) -> list[str]:
    """Return each error and warning of the pages, by their names; MissingError if they can't be checked."""
    java, jar = _java(), _jar()
    with tempfile.TemporaryDirectory() as folder:
        names = {f"{number}.html": name for number, name in enumerate(pages)}
        for file, name in names.items():
            (Path(folder) / file).write_text(pages[name], encoding="utf-8")
        done = subprocess.run(
            [java, "-Xss4m", "-jar", str(jar), "--format", "json", "--exit-zero-always", *names],
            cwd=folder,
            stderr=subprocess.PIPE,
            check=True,
            text=True,
            timeout=300,
        )
    found = json.loads(done.stderr)["messages"]
    return [
        f"{names[item['url'].rpartition('/')[2]]}, line {item.get('lastLine')}: {item['message']}"
        f" {item.get('extract', '')!r}"
        for item in found
        if (item["type"] == "error" or item.get("subType") == "warning") and not _OWN.search(item["message"])
    ]


def _java() -> str:
    if not shutil.which("java"):
        _install("default-jre-headless")
    if found := shutil.which("java"):
        return found
    raise MissingError("The HTML checker needs Java; install a Java runtime of version 11 or later.")


def _jar() -> Path:
    """Return the checker's jar; the first test worker fetches it, the others find it."""
    jar = CACHE / f"vnu-{VERSION}.jar"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jar.exists():
            _fetch(jar)
    return jar


def _fetch(jar: Path) -> None:
    if not shutil.which("npm"):
        _install("npm")
    if not (npm := shutil.which("npm")):
        raise MissingError(f"npm is needed to fetch the HTML checker: npm pack vnu-jar@{VERSION}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([npm, "pack", "--silent", f"vnu-jar@{VERSION}"], cwd=folder, check=True, timeout=120)
        with tarfile.open(Path(folder) / f"vnu-jar-{VERSION}.tgz") as packed:
            inner = packed.extractfile("package/build/dist/vnu.jar")
            if inner is None:
                raise MissingError("The package of the HTML checker holds no jar.")
            new = jar.with_suffix(".new")
            new.write_bytes(inner.read())
    new.replace(jar)


def _install(package: str) -> None:
    if os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run([*_APT, "update"], check=False)
        subprocess.run([*_APT, "install", "-y", "--no-install-recommends", package], check=False)

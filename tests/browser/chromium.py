"""Finds a Chromium for the browser tests, or brings one; the tests never skip for want of it."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# The shell has the same engine without the browser around it: less than half of the processor's time a page.
_SHELL = "chromium-headless-shell"
_NAMES = (_SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
_APT = ("apt-get", "-o", "DPkg::Lock::Timeout=120", "-qq")

# Nothing in the background asks for hosts outside; as root there is no sandbox to be had.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class MissingError(Exception):
    """There is no Chromium and none can be installed here."""


def path(own: str) -> str:
    """The program to start: CKPTSITE_CHROMIUM, the system's, Playwright's `own`, or one installed just now.

    Raises MissingError with one clear sentence when none of these works.
    """
    with (Path(tempfile.gettempdir()) / f"ckptsite-chromium-{os.geteuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of the test workers installs, the others find it
        return _find(own) or _install(own)


def _find(own: str) -> str | None:
    if given := os.environ.get("CKPTSITE_CHROMIUM"):
        if not Path(given).is_file():
            raise MissingError(f"CKPTSITE_CHROMIUM names {given!r}, which is no file.")
        return given
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    for candidate in (_MAC, Path(own)):
        if candidate.is_file():
            return str(candidate)
    return None


def _install(own: str) -> str:
    commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        install = [*_APT, "install", "-y", "--no-install-recommends"]
        commands += [[*_APT, "update"], [*install, _SHELL], [*install, "chromium"]]
    for command in commands:
        subprocess.run(
            command, check=False, timeout=600, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        )
        if found := _find(own):
            return found
    raise MissingError(
        "Browser tests need Chromium: install it (Debian: apt-get install chromium; anywhere: "
        "playwright install chromium), or name one with CKPTSITE_CHROMIUM."
    )

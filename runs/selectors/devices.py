"""A browser's name for itself, in plain words. Pure."""

from __future__ import annotations

_BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "FxiOS": "Firefox",
    "HeadlessChrome": "Chrome",
    "Chrome/": "Chrome",
    "CriOS": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
}
_SYSTEMS = {
    "iPhone": "an iPhone",
    "iPad": "an iPad",
    "Android": "Android",
    "CrOS": "ChromeOS",
    "Windows": "Windows",
    "Mac OS X": "a Mac",
    "Linux": "Linux",
}
"""What tells each, the telling one first: most browsers call themselves Chrome and Safari too."""


def words(agent: str) -> str:
    """Return what somebody sits at, such as "Firefox on a Mac"; what a browser says of itself is never checked."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in agent), "")
    system = next((name for mark, name in _SYSTEMS.items() if mark in agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or (f"A browser on {system}" if system else "A browser that doesn't say what it is")

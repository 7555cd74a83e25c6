"""Which addresses of the site are measured, which are excused by name, and which nobody thought of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qs, urlsplit

from django.urls import URLPattern, URLResolver, get_resolver, resolve

from tests import architecture
from tests.bench.addresses import FRAGMENT, Address
from tests.bench.serving import People

EXCUSED = {
    "admin/": "for looking at rows, not for work",
    "api/v1/": "no page; its lists read by the same keys as the pages'",
    "login/": "before anybody is signed in",
    "logout/": "a question and a button",
    "prove/": "a form for one's own password",
    "settings/security/": "forms about one's own account, behind that password",
    "setup/<str:token>/": "there only once",
    "join/<str:secret>/": "for one invited person, not signed in",
    "healthz": "says that the process lives",
    "readyz": "a few counts up to some, for a machine",
    "metricsz": "the same, kept for a while",
    "events/": "the stream; `tests.bench.live` measures it",
    "inbox/export.csv": "a file, written piece by piece",
    "inbox/export.json": "a file, written piece by piece",
    "runs/<int:run_id>/files/<str:sha256>/": "a file as it was kept",
    "runs/imported/<int:number>/": "no record is seeded; it is read by the index of its own lines",
    "runs/<int:run_id>/dry-run/": "no dry run is seeded",
    "runs/<int:run_id>/take-over/": "no dry run is seeded",
    "reviews/<int:review_id>/break-glass/": "there only while a second person is missing",
}
"""Beginnings of addresses that aren't measured, each with its reason."""

EXCUSED_PARTS = {
    ("edits", "try"): "what a worker found of arguments that somebody is typing",
    ("dry_runs", "live"): "no dry run is seeded",
}
_PART = re.compile(r"""get\("part"\)(?: == "(\w+)"|:)""")
_CASE = re.compile(r"""^\s+case "(\w+)":""", re.MULTILINE)


def gaps(people: People, wanted: Iterable[Address]) -> list[str]:
    """Return what is neither measured nor excused, and needless excuses. What only takes a POST is no page."""
    addresses = list(wanted)
    measured = {_route(address) for address in addresses}
    routes = set(_routes(get_resolver()))
    pages = {route for route in routes - measured if not _excuse(route) and not _only_posts(people, route)}
    shown = {
        (resolve(urlsplit(address.path).path).func.__module__.rpartition(".")[2], part)
        for address in addresses
        if address.kind == FRAGMENT
        for part in parse_qs(urlsplit(address.path).query)["part"]
    }
    parts = set(_parts())
    return [
        *sorted(f"/{route} isn't measured" for route in pages if route),
        *sorted(
            f"the part {part!r} of {module} isn't measured"
            for module, part in parts - shown - set(EXCUSED_PARTS)
        ),
        *sorted(f"/{route} is measured and excused" for route in measured if _excuse(route)),
        *sorted(f"no address begins with {name!r}" for name in EXCUSED if name not in map(_excuse, routes)),
        *sorted(f"{pair} needs no excuse" for pair in EXCUSED_PARTS if pair in shown or pair not in parts),
    ]


def _excuse(route: str) -> str:
    """Return the excuse that fits best, or nothing."""
    return max((name for name in EXCUSED if route.startswith(name)), key=len, default="")


def _route(address: Address) -> str:
    return resolve(urlsplit(address.path).path).route


def _routes(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for one in resolver.url_patterns:
        route = f"{before}{one.pattern}"
        if isinstance(one, URLPattern):
            yield route
        else:
            yield from _routes(one, route)


def _only_posts(people: People, route: str) -> bool:
    path = "/" + re.sub(r"<int:\w+>", "1", re.sub(r"<(?:str|slug):\w+>", "x", route))
    return people.named("admin").get(path, secure=True).status_code == 405


def _parts() -> Iterator[tuple[str, str]]:
    """Give each part that a view can be asked for, with the view's module: read from the source."""
    for path in sorted((architecture.ROOT / "runs" / "views").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        for found in _PART.finditer(source):
            names = [found[1]] if found[1] else _CASE.findall(source)
            yield from ((path.stem, name) for name in names)

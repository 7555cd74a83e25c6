"""What the browser itself has measured of the page that it shows: bytes, nodes, and what moved under the eyes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

_MEASURE = """async () => {
  const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const moves = [];
  const what = ({ node }) => String(node?.outerHTML ?? node?.textContent).slice(0, 100);
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (!entry.hadRecentInput) moves.push([entry.value, ...entry.sources.map(what)]);
    }
  });
  observer.observe({ type: "layout-shift", buffered: true });
  await new Promise((done) => setTimeout(done, 50));
  observer.disconnect();
  return {
    files: entries.map((entry) => ({
      name: new URL(entry.name).pathname, whole: entry.encodedBodySize, sent: entry.transferSize,
    })),
    nodes: document.querySelectorAll("*").length,
    moves,
  };
}"""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One page. Bytes are as sent, compressed; `first` is what somebody fetches who has never been here."""

    path: str
    first: int
    sent: int
    styles: int
    own: int
    others: int
    nodes: int
    moved: float
    moves: tuple[str, ...]
    """What moved, for whoever has to find out why."""


def measured(page: Page) -> Measured:
    """Return what was measured of the page as it is now."""
    found: dict[str, Any] = page.evaluate(_MEASURE)

    def weight(*parts: str) -> int:
        return sum(file["whole"] for file in found["files"] if all(part in file["name"] for part in parts))

    return Measured(
        path=page.evaluate("location.pathname + location.search"),
        first=weight(),
        sent=sum(file["sent"] for file in found["files"]),
        styles=weight("/css/"),
        own=weight("/js/"),
        others=weight("/vendor/", ".js"),
        nodes=found["nodes"],
        moved=sum(move[0] for move in found["moves"]),
        moves=tuple(f"{move[0]:.3f}: {' | '.join(move[1:])}" for move in found["moves"] if move[0] > 0.01),
    )

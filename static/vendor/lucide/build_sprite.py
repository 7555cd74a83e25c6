"""Builds static/icons/sprite.svg from an unpacked lucide-static package.

Only needed when an icon is added:
    npm pack lucide-static@1.62.0 && tar xzf lucide-static-1.62.0.tgz
    python static/vendor/lucide/build_sprite.py package
"""

import pathlib
import re
import sys

ICONS = """
activity arrow-down arrow-up ban banknote bookmark bot check chevron-down chevron-left chevron-right circle-alert
circle-check circle-dashed circle-dot circle-pause circle-play circle-question-mark circle-stop
circle-x clock copy database download external-link eye file-text flag grip-vertical hash history hourglass inbox
info keyboard landmark layers list-checks list-todo loader lock log-out mail message-square monitor
moon octagon-x pause pencil play plus receipt rotate-ccw scroll-text search send shield shield-alert
shield-check skip-forward square sun trash-2 triangle-alert undo-2 user wifi wifi-off wrench x zap
""".split()  # noqa: SIM905  reads better than sixty quoted names
TARGET = pathlib.Path(__file__).resolve().parents[2] / "icons" / "sprite.svg"


def symbol(source: str, name: str) -> str:
    """One <symbol>; refuses a file that isn't a plain 24 x 24 stroke icon."""
    match = re.search(r"<svg\b[^>]*viewBox=\"0 0 24 24\"[^>]*>(.*)</svg>", source, re.DOTALL)
    if match is None:
        raise SystemExit(f"{name}: not a 24 x 24 icon")
    body = re.sub(r"\s*\n\s*", "", match[1])
    return f'<symbol id="{name}" viewBox="0 0 24 24">{body}</symbol>'


def main(package: str) -> None:
    """Writes the sprite; refuses when an icon is missing."""
    folder = pathlib.Path(package) / "icons"
    symbols = [symbol((folder / f"{name}.svg").read_text(), name) for name in ICONS]
    TARGET.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" fill="none" stroke="currentColor" stroke-width="2" '
        'stroke-linecap="round" stroke-linejoin="round">\n' + "\n".join(symbols) + "\n</svg>\n"
    )
    sys.stdout.write(f"{TARGET.name}: {len(symbols)} icons, {TARGET.stat().st_size} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1])

"""Checks the vendored files against manifest.json: `python static/vendor/check.py`.

Exit 0 when each file is listed and unchanged and each package carries its licence; else exit 1, a line each.
`--write` fills in the sums after a file was replaced on purpose.
"""

import hashlib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
OWN = {"manifest.json", "check.py", "lucide/build_sprite.py"}


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def problems(manifest: dict, root: pathlib.Path) -> list[str]:
    """Sentences about what is wrong; empty when all is well."""
    found: list[str] = []
    listed: set[str] = set()
    for package in manifest["packages"]:
        label = f"{package['name']} {package['version']}"
        if not package.get("licence"):
            found.append(f"{label}: no licence is named")
        if package.get("licence_file") not in package["files"]:
            found.append(f"{label}: its licence file is not among its files")
        for name, expected in package["files"].items():
            listed.add(name)
            path = root / name
            if not path.is_file():
                found.append(f"{label}: {name} is missing")
            elif digest(path) != expected:
                found.append(f"{label}: {name} differs from the sum in manifest.json")
    present = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    found += [f"{name} is not listed in manifest.json" for name in sorted(present - listed - OWN)]
    return found


def main(arguments: list[str]) -> int:
    path = HERE / "manifest.json"
    manifest = json.loads(path.read_text())
    if "--write" in arguments:
        for package in manifest["packages"]:
            package["files"] = {name: digest(HERE / name) for name in package["files"]}
        path.write_text(json.dumps(manifest, indent=2) + "\n")
    found = problems(manifest, HERE)
    for line in found:
        print(f"vendor check: {line}", file=sys.stderr)
    if not found:
        count = sum(len(package["files"]) for package in manifest["packages"])
        print(f"vendor check: {count} files in {len(manifest['packages'])} packages are as listed")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

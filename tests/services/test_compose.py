"""The compose file: it starts what `up` and the units start, and each container finds the others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ckptsite.services import children, units

FILE = children.BASE_DIR / "compose.yaml"
OURS = {"prepare": "prepare", "web": "web@", "web-2": "web@", "worker": "worker@", "clock": "clock"}
HERE = "/srv/ckptsite"


def file() -> dict[str, Any]:
    """Return the file with what stands where nothing is given."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", FILE.read_text())
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def lines(unit: str, name: str) -> list[str]:
    told = (line.partition("=") for line in unit.splitlines())
    return [value for key, _, value in told if key == name]


def test_containers_run_what_the_units_run_with_the_same_environment() -> None:
    services = file()["services"]
    site = units.Site(user="root", environment=Path("/env"), data=Path("/data"), proxied=True)
    told = units.units(site)
    for service, unit in OURS.items():
        text = told[f"ckptsite-{unit}.service"]
        (wanted,) = lines(text, "ExecStart")
        wanted = wanted.replace(str(children.BASE_DIR), HERE).split(" ", 1)[1]
        said = " ".join(services[service]["command"]).removeprefix("python ")
        wanted = wanted.removesuffix(" --hostname worker-%i@%%h")  # each container has a name of its own
        wanted = wanted.replace("--host 127.0.0.1 --port %i", "--host 0.0.0.0 --port 8000")
        assert said == wanted, service
        given = services[service]["environment"]
        assert set(lines(text, "Environment")) <= {f"{name}={value}" for name, value in given.items()}, (
            service
        )


def test_each_finds_the_others_and_waits_for_them() -> None:
    found = file()
    services = found["services"]
    for name in OURS:
        given = services[name]["environment"]
        assert given["DATABASE_URL"].endswith("@database/ckptsite")
        assert given["REDIS_URL"].startswith("redis://broker:")
        waits = services[name]["depends_on"]
        assert waits == (
            {"prepare": {"condition": "service_completed_successfully"}}
            if name != "prepare"
            else {part: {"condition": "service_healthy"} for part in ("database", "broker")}
        )
        assert all("healthcheck" in services[part] for part in waits if part != "prepare")
        assert services[name]["volumes"] == ["data:/data"]
    to = re.search(r"reverse_proxy (.*) \{", found["configs"]["proxy"]["content"])
    assert to is not None
    assert to[1].split() == ["web:8000", "web-2:8000"]
    assert {entry.split(":")[0] for one in services.values() for entry in one.get("volumes", [])} <= set(
        found["volumes"]
    )


def test_compose_reads_it() -> None:
    docker = shutil.which("docker")
    if (
        docker is None
        or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode
    ):
        pytest.skip("there is no docker compose here")
    environment = {**os.environ, "POSTGRES_PASSWORD": "secret"}
    subprocess.run([docker, "compose", "-f", FILE, "config", "--quiet"], env=environment, check=True)


def test_the_image_holds_what_the_product_needs_and_nothing_else() -> None:
    kept = [line[1:] for line in (children.BASE_DIR / ".dockerignore").read_text().split() if line[0] == "!"]
    assert sorted(kept) == ["LICENSE", "README.md", "ckptsite", "manage.py", "pyproject.toml", "runs", "static",
                            "templates"]  # fmt: skip
    assert all((children.BASE_DIR / name).exists() for name in kept)

"""Units for systemd: the same processes that `up` starts, each for itself, on servers of one's own. Text only."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from ckptsite.services import children

FIRST_PORT = 8001
_FOREWORD = (
    "# Made by manage.py systemd_units, which writes it over: change it by a drop-in (systemctl edit).\n"
)
# An effect that is under way is awaited to its deadline.
_STOP_WORKER, _STOP = 120, 15


@dataclass(frozen=True, kw_only=True)
class Site:
    """How many of which, as whom, and where their settings stand."""

    user: str
    environment: Path
    data: Path
    webs: int = 2
    workers: int = 2
    slots: int = 2
    proxied: bool = False


def units(site: Site) -> dict[str, str]:
    """Return each unit's text by its file name. `systemctl enable --now ckptsite.target` starts them all."""
    web = children.web_arguments("--host", "127.0.0.1", "--port", "%i", proxied=site.proxied)
    wanted = [
        "ckptsite-clock.service",
        *(f"ckptsite-web@{FIRST_PORT + number}.service" for number in range(site.webs)),
        *(f"ckptsite-worker@{number + 1}.service" for number in range(site.workers)),
    ]
    return {
        "ckptsite.target": _FOREWORD
        + f"[Unit]\nDescription=ckptsite\nWants={' '.join(wanted)}\n\n[Install]\nWantedBy=multi-user.target\n",
        "ckptsite-prepare.service": _service(
            site, "tables and static files", ("-m", "ckptsite.prepare", "setup_link"), role="tool", once=True
        ),
        "ckptsite-web@.service": _service(site, "pages on port %i", web, role="web"),
        "ckptsite-worker@.service": _service(
            site,
            "worker %i",
            (*children.worker_arguments(site.slots), "--hostname", "worker-%i@%%h"),
            role="worker",
            extra=children.OF_A_WORKER,
            stop=_STOP_WORKER,
        ),
        "ckptsite-clock.service": _service(
            site, "clock", (str(children.BASE_DIR / "manage.py"), "clock"), role="clock"
        ),
    }


def _service(
    site: Site,
    what: str,
    arguments: tuple[str, ...],
    *,
    role: str,
    once: bool = False,
    extra: dict[str, str] | None = None,
    stop: int = _STOP,
) -> str:
    given = {"CKPTSITE_ROLE": role, "CKPTSITE_DATA": str(site.data), **children.OF_ALL, **(extra or {})}
    after = "network-online.target" if once else "network-online.target ckptsite-prepare.service"
    requires = [] if once else ["Requires=ckptsite-prepare.service"]
    lines = [
        "[Unit]",
        f"Description=ckptsite: {what}",
        "Wants=network-online.target",
        f"After={after}",
        *requires,
        "PartOf=ckptsite.target",
        "",
        "[Service]",
        f"Type={'oneshot' if once else 'exec'}",
        f"User={site.user}",
        f"WorkingDirectory={children.BASE_DIR}",
        f"EnvironmentFile={site.environment}",
        *(f"Environment={name}={value}" for name, value in given.items()),
        f"ExecStart={shlex.join((sys.executable, *arguments))}",
        *(["RemainAfterExit=yes"] if once else ["Restart=always", "RestartSec=1"]),
        f"TimeoutStopSec={stop}",
        "KillMode=mixed",
        "UMask=0077",
        "NoNewPrivileges=yes",
        "PrivateTmp=yes",
        "PrivateDevices=yes",
        "ProtectSystem=strict",
        "ProtectHome=read-only",
        f"ReadWritePaths={site.data}",
        "ProtectKernelTunables=yes",
        "ProtectControlGroups=yes",
        "RestrictSUIDSGID=yes",
        "LockPersonality=yes",
    ]
    return _FOREWORD + "\n".join(lines) + "\n"

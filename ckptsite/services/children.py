"""The product's own long-running processes, as command lines and environments."""

import dataclasses
import os
import sys
from pathlib import Path

from ckptsite import env
from ckptsite.services import folder as folders
from ckptsite.services import processes

BASE_DIR = Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    """Where all children of one `up` find each other."""

    folder: folders.Folder
    database_url: str
    redis_url: str
    port: int
    listener: int  # the file number of the socket that the pages are served on

    def environment(self, role: str) -> dict[str, str]:
        """The environment of a child in this role."""
        given = {
            "CKPTSITE_DATA": str(self.folder.root),
            "CKPTSITE_PORT": str(self.port),
            "CKPTSITE_ROLE": role,
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            **OF_ALL,
        }
        # An address given as a file has been read already; both forms together are refused.
        kept = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in given}
        return {**kept, **given}


# Celery would run Django's checks and drop what they find; they load every page, which a worker never serves.
OF_A_WORKER = {"CELERY_SKIP_CHECKS": "1"}
# A heap for each thread costs memory and wins nothing here.
OF_ALL = {"PYTHONUNBUFFERED": "1", "MALLOC_ARENA_MAX": "2"}


def worker_arguments(slots: int) -> tuple[str, ...]:
    """Return what Python is given to be a worker with so many slots."""
    options = (
        "-c",
        str(slots),
        "-Q",
        "advance",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    )
    return ("-m", "celery", "-A", "ckptsite", "worker", *options, "--loglevel", "INFO")


def web_arguments(*bound: str, proxied: bool) -> tuple[str, ...]:
    """Return what Python is given to serve the pages where it is bound.

    Who connects is who asks; only behind a proxy of one's own is the proxy's word taken for it.
    """
    return (
        *("-m", "uvicorn", "ckptsite.asgi:application", *bound),
        *("--lifespan", "off", "--ws", "none", "--timeout-graceful-shutdown", "3"),
        *("--no-access-log", "--no-server-header"),
        "--proxy-headers" if proxied else "--no-proxy-headers",
    )


def prepare(setting: Setting, *, demo: bool) -> tuple[list[str], dict[str, str]]:
    """Command and environment of the process that brings tables and static files up to date."""
    last = "demo_setup" if demo else "setup_link"
    return [sys.executable, "-m", "ckptsite.prepare", last], setting.environment("tool")


def worker(setting: Setting) -> processes.Program:
    """The Celery worker; it says by a file when it takes messages."""
    slots = env.integer("CKPTSITE_SLOTS", 2, minimum=1)
    return _python(
        setting,
        "worker",
        *worker_arguments(slots),
        extra={"CKPTSITE_READY_FILE": str(setting.folder.worker_ready), **OF_A_WORKER},
    )


def clock(setting: Setting) -> processes.Program:
    """The process that finds what time has made due."""
    return _python(setting, "clock", str(BASE_DIR / "manage.py"), "clock")


def web(setting: Setting) -> processes.Program:
    """The pages, on a socket that stays open while they restart."""
    return _python(
        setting,
        "web",
        *web_arguments("--fd", str(setting.listener), proxied=env.flag("TRUST_PROXY", default=False)),
        pass_fds=(setting.listener,),
    )


def _python(
    setting: Setting,
    name: str,
    *arguments: str,
    extra: dict[str, str] | None = None,
    pass_fds: tuple[int, ...] = (),
) -> processes.Program:
    return processes.Program(
        name=name,
        command=(sys.executable, *arguments),
        environment={**setting.environment(name), **(extra or {})},
        log=setting.folder.logs / f"{name}.log",
        pass_fds=pass_fds,
        cwd=BASE_DIR,
    )

"""The Celery app. A message is a hint that a run may be due; losing or doubling one changes nothing."""

import multiprocessing
import os
import pathlib
from multiprocessing.synchronize import Event
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ckptsite.settings")

from django.conf import settings

from ckptsite import traces

_stopping: Event | None = None

app = Celery("ckptsite")
app.conf.update(
    broker_url=settings.REDIS_BROKER,
    accept_content=["json"],
    task_serializer="json",
    task_default_queue="advance",
    task_ignore_result=True,
    task_acks_late=False,
    task_publish_retry=False,
    # A dead or paused server costs a decision half a second at most.
    broker_transport_options={
        "socket_timeout": settings.REDIS_TIMEOUT,
        "socket_connect_timeout": settings.REDIS_TIMEOUT,
        "socket_keepalive": True,
        "health_check_interval": 10,
        "max_retries": 0,
        "interval_start": 0,
        "interval_step": 0,
        "interval_max": 0,
    },
    broker_connection_max_retries=None,
    broker_connection_retry_on_startup=True,
    worker_prefetch_multiplier=1,
    worker_disable_prefetch=True,
    worker_max_tasks_per_child=1000,
    worker_hijack_root_logger=False,
    worker_enable_remote_control=False,
)
# Celery would close the database connection before and after each task; tasks check it themselves.
app.conf.CELERY_DB_REUSE_MAX = 10**9
app.autodiscover_tasks()


def stopping() -> bool:
    """True once this worker was told to stop; the engine asks between two moves and hands its run back."""
    return _stopping is not None and _stopping.is_set()


@signals.celeryd_init.connect(weak=False)
def _limit_time(conf: Any, **_kwargs: object) -> None:
    """Above the longest work on one message: a limit that fires inside an effect makes its outcome unknown."""
    from runs.tools import registry  # noqa: PLC0415 the apps are loaded only now

    times = settings.CKPTSITE
    longest = max(times["EFFECT_TIMEOUT"], times["MODEL_TIMEOUT"], registry.longest_timeout())
    conf.task_time_limit = 2 * times["SLICE"] + 2 * longest + 2 * times["MARGIN"]


@signals.worker_init.connect(weak=False)
def _before_fork(**_kwargs: object) -> None:
    global _stopping  # noqa: PLW0603 - made before the pool forks, so that parent and children share it
    _stopping = multiprocessing.Event()


@signals.worker_before_create_process.connect(weak=False)
def _share_memory(**_kwargs: object) -> None:
    from runs.engine import worker  # noqa: PLC0415 the apps are loaded only now

    worker.settle_in()  # what is loaded stays shared with the children too, since no collection touches it any more


@signals.worker_shutting_down.connect(weak=False)
def _on_shutdown(**_kwargs: object) -> None:
    if _stopping is not None:
        _stopping.set()


@signals.worker_process_shutdown.connect(weak=False)
def _send_traces(**_kwargs: object) -> None:
    traces.end()


@signals.worker_ready.connect(weak=False)
def _tell_supervisor(**_kwargs: object) -> None:
    if path := os.environ.get("CKPTSITE_READY_FILE"):
        pathlib.Path(path).touch()

"""Log lines: JSON for machines, aligned text for a terminal, each with what it belongs to.

The same names everywhere, and no others: `request` (the id that its answer carries as X-Request-ID), `run`, `fence` and
`action`; `about` gives them to all lines of a block. A line says what happened and where, never with what: no
arguments, no results, no rows, no queries of addresses. What a tool raised is told by its kind: its words may quote
what it was given, and stand in the run's own log. `tests/core/test_logs.py` holds all of that.
"""

from __future__ import annotations

import logging
import re
import traceback
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, TextIO

import structlog

from runs import redaction

FROM_LIBRARIES = {"status_code"}
"""What is taken over of a library's line beside its text; others carry requests with their queries, and arguments."""
LONGEST = 500
OF_SERVERS = ("django.db.utils", "psycopg", "redis.exceptions", "kombu.exceptions")
"""Errors whose own words are told as JSON, too: servers say what ails them."""
_LINKS = re.compile(r"(/(?:setup|join)/)[^/\s\"']+")
"""Addresses that are as good as a password."""

_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(allow=FROM_LIBRARIES),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def about(
    *, request: str | None = None, run: int | None = None, fence: int | None = None, action: int | None = None
) -> AbstractContextManager[Any]:
    """Give these names to each line of the block, also in the threads and tasks that it starts with its context."""
    given = {"request": request, "run": run, "fence": fence, "action": action}
    return structlog.contextvars.bound_contextvars(
        **{name: value for name, value in given.items() if value is not None}
    )


def request_id() -> str:
    """Return the id of the request that is being answered, or nothing outside of one."""
    return str(structlog.contextvars.get_contextvars().get("request", ""))


def configure(*, form: str, level: str, role: str) -> dict[str, Any]:
    """Set structlog up and give back the LOGGING of Django; `form` is json or console."""
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )

    def with_role(
        _logger: Any, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        event["role"] = role
        return event

    renderers: list[structlog.typing.Processor] = (
        [structlog.processors.ExceptionRenderer(_told), structlog.processors.JSONRenderer()]
        if form == "json"
        else [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=_printed)]
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    with_role,
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    _shortened,
                    *renderers,
                    _without_secrets,
                ],
                "foreign_pre_chain": _SHARED,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's own handlers would print a second time, or mail administrators that nobody named.
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "level": level, "propagate": True},
            "celery": {"level": level},
            "uvicorn": {"handlers": [], "level": level, "propagate": True},
            "uvicorn.access": {"handlers": [], "level": "WARNING", "propagate": False},
            # These tell each address that they ask, whole.
            **{name: {"level": "WARNING"} for name in ("httpx", "httpx2", "httpcore", "mcp", "urllib3")},
        },
    }


def _without_secrets(_logger: Any, _method: str, line: Any) -> Any:
    cleaned = redaction.clean(line)
    return _LINKS.sub(r"\1...", cleaned) if isinstance(cleaned, str) else cleaned


def first_line(text: str) -> str:
    """Return what an error says before it goes on about the row or the document in which it found it."""
    return text.partition("\n")[0].partition("\\n")[0][:LONGEST]  # the second where Python has quoted it


def _shortened(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Keep the first line of what an error says: PostgreSQL's others quote the row."""
    if isinstance(event.get("error"), str):
        event["error"] = first_line(event["error"])
    return event


Raised = tuple[type[BaseException], BaseException, TracebackType | None]


def _told(exc_info: Raised) -> list[dict[str, Any]]:
    """Return an error and those that led to it: kind and where it was, never what the variables held."""
    return [
        {
            "type": type(error).__name__,
            **({"said": first_line(str(error))} if _of_server(error) else {}),
            "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in _frames(error)],
        }
        for error in _chain(exc_info)
    ]


def _of_server(error: BaseException) -> bool:
    known = type(error).__module__.startswith(OF_SERVERS)
    return known or isinstance(error, ConnectionError | TimeoutError)


def _printed(out: TextIO, exc_info: Raised) -> None:
    """Write the same for people, each with its first line, the error itself last."""
    for error in reversed(_chain(exc_info)):
        said = f"{type(error).__name__}: {first_line(str(error))}"
        out.writelines(["\n", *_frames(error).format(), said])


def _frames(error: BaseException) -> traceback.StackSummary:
    return traceback.extract_tb(error.__traceback__)


def _chain(exc_info: Raised) -> list[BaseException]:
    """Return the error, what led to it, what led to that."""
    found: list[BaseException] = []
    error: BaseException | None = exc_info[1]
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found

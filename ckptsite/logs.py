"""Log lines: JSON for machines, aligned text for a terminal, each with the run and action it belongs to."""

from typing import Any

import structlog

from runs import redaction

_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def _without_secrets(_logger: Any, _method: str, line: Any) -> Any:
    return redaction.clean(line)


def bind(*, run: int | None = None, action: int | None = None) -> None:
    """Give each later line of this thread or task the ids of what it is about; None leaves an id as it is."""
    given = {name: value for name, value in (("run", run), ("action", action)) if value is not None}
    structlog.contextvars.bind_contextvars(**given)


def unbind() -> None:
    """Forget the ids that `bind` gave."""
    structlog.contextvars.unbind_contextvars("run", "action")


def configure(*, form: str, level: str, role: str) -> dict[str, Any]:
    """Set structlog up and give back the LOGGING of Django; `form` is json or console."""
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
        event.pop("color_message", None)  # uvicorn says everything twice, once for terminals
        return event

    # Tracebacks without the values of variables: those are letters, amounts and passwords.
    renderers: list[structlog.typing.Processor] = (
        [
            structlog.processors.ExceptionRenderer(
                structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
            ),
            structlog.processors.JSONRenderer(),
        ]
        if form == "json"
        else [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)]
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
        },
    }

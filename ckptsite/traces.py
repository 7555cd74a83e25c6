"""Traces over OTLP (HTTP), where OTEL_EXPORTER_OTLP_ENDPOINT says where to; else none, and nothing of it is imported.

A span holds names, numbers and ids, never arguments, results or words, and of an error only its kind. Spans go out in
batches from a thread beside the work: a collector that is slow or away costs spans, and no step waits for it.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import importlib.util
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings

from ckptsite import env

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
TIMEOUT = 3.0
"""Seconds that a batch may take, tries anew included, and that an ending process waits for its last one."""

Value = str | int | float | bool
Attributes = Mapping[str, Value]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Trace and number of a span that follow from what it is about, so that nothing of them needs to be stored."""

    trace: int
    span: int


class Span:
    """What is open now. Without traces it takes everything and does nothing."""

    def __init__(self, inner: trace.Span | None = None) -> None:
        self._inner = inner

    def set(self, attributes: Attributes) -> None:
        """Add these attributes."""
        if self._inner is not None:
            self._inner.set_attributes(attributes)

    def rename(self, name: str) -> None:
        """Give it the name that is known only now."""
        if self._inner is not None:
            self._inner.update_name(name)

    def event(self, name: str, attributes: Attributes) -> None:
        """Add what happened now."""
        if self._inner is not None:
            self._inner.add_event(name, attributes)


NOTHING = Span()
_NO_SPAN = contextlib.nullcontext(NOTHING)

_role = ""
_provider: TracerProvider | None = None
_pid = 0
_place: contextvars.ContextVar[Place | None] = contextvars.ContextVar("place", default=None)


def configure(*, role: str) -> bool:
    """Return whether spans are to go out. Refuses EnvError where that can't be done."""
    global _role  # noqa: PLW0603 a process has one role
    _role = role
    if not any(os.environ.get(name) for name in ENDPOINTS):
        return False
    if importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is None:
        raise env.EnvError(f"{ENDPOINTS[0]} needs more packages: install ckptsite[otel].")
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    if protocol != "http/protobuf":
        raise env.EnvError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}; traces go out as 'http/protobuf' only."
        )
    return True


def on() -> bool:
    """Return whether spans go out."""
    return bool(settings.CKPTSITE_TRACES)


def span(
    name: str,
    attributes: Attributes,
    *,
    kind: str = "INTERNAL",
    place: Place | None = None,
    after: Place | None = None,
) -> contextlib.AbstractContextManager[Span]:
    """Open a span while the block runs. At a `place` it begins there, with nothing above it, linked to that `after`."""
    return _opened(name, attributes, kind, place, after) if on() else _NO_SPAN


def end() -> None:
    """Send what has ended; a process that ends waits for it `TIMEOUT` seconds at most."""
    global _provider  # noqa: PLW0603 there is one a process
    if _provider is None or _pid != os.getpid():
        return
    last = threading.Thread(target=_provider.shutdown, name="traces-end", daemon=True)
    _provider = None
    last.start()
    last.join(TIMEOUT)


@contextlib.contextmanager
def _opened(
    name: str, attributes: Attributes, kind: str, place: Place | None, after: Place | None
) -> Iterator[Span]:
    from opentelemetry import context, trace

    links = [] if after is None else [trace.Link(_context(after))]
    token = _place.set(place)
    try:
        inner = _tracer().start_span(
            name,
            context=None if place is None else context.Context(),
            kind=trace.SpanKind[kind],
            attributes=dict(attributes),
            links=links,
        )
    finally:
        _place.reset(token)
    with trace.use_span(inner, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield Span(inner)
        except BaseException as error:
            inner.set_attribute("error.type", type(error).__name__)
            inner.set_status(trace.StatusCode.ERROR)
            raise


def _context(place: Place) -> trace.SpanContext:
    from opentelemetry import trace

    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    return trace.SpanContext(place.trace, place.span, is_remote=True, trace_flags=flags)


def _tracer() -> trace.Tracer:
    """Return this process' tracer: made in the process that uses it, since a fork takes no thread along."""
    global _provider, _pid
    if _provider is None or _pid != os.getpid():
        _provider, _pid = _made(), os.getpid()
        atexit.register(end)
    return _provider.get_tracer("ckptsite")


def _made() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Placed(RandomIdGenerator):
        """Numbers as they come, but for a span that has its place."""

        def generate_trace_id(self) -> int:
            place = _place.get()
            return super().generate_trace_id() if place is None else place.trace

        def generate_span_id(self) -> int:
            place = _place.get()
            return super().generate_span_id() if place is None else place.span

    named: dict[str, Any] = {"ckptsite.role": _role}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        named["service.name"] = "ckptsite"
    made = TracerProvider(resource=Resource.create(named), id_generator=Placed(), shutdown_on_exit=False)
    timed = any(os.environ.get(f"OTEL_EXPORTER_OTLP_{name}TIMEOUT") for name in ("", "TRACES_"))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=None if timed else TIMEOUT)))
    return made

"""The trail: what ties the parts of one story together, from a request through a row to the calls after it.

Two ids make it: the correlation id, which every log entry and call carries, and the trace, when a collector
is named. An *origin* is both as texts, kept with a piece of work, so that whoever does it, after a restart
or on another replica, goes on with the same story.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import structlog
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import NoOpTracer, Span, SpanKind, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

CORRELATION = "correlationId"  # the key in an origin; the trace's is the standard's own, `traceparent`
Attributes = Mapping[str, str | int]

_propagator = TraceContextTextMapPropagator()


class Trail:
    """Makes spans and origins; without a provider no spans are made, and correlation ids are all there is."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = NoOpTracer() if provider is None else provider.get_tracer("ostler")
        self._is_tracing = provider is not None

    def span(self, name: str, kind: SpanKind, attributes: Attributes) -> AbstractContextManager[Span]:
        """Return a span of the current trace, or of a new one, that lasts as long as the block."""
        return self._tracer.start_as_current_span(name, kind=kind, attributes=attributes)

    def origin(self) -> dict[str, str]:
        """Return where the work that is asked for now comes from."""
        return self._with_trace({CORRELATION: found} if (found := correlation_id()) else {})

    def headers(self) -> dict[str, str]:
        """Return what a call carries, so that the other side can be asked about it."""
        return self._with_trace({"X-Correlation-Id": found} if (found := correlation_id()) else {})

    @contextmanager
    def continued(self, origin: Mapping[str, str]) -> Iterator[None]:
        """Go on with the story that an origin tells of, for as long as the block lasts."""
        bound = {"correlation_id": origin[CORRELATION]} if CORRELATION in origin else {}
        token = contexts.attach(_propagator.extract(origin, contexts.Context()))
        try:
            with structlog.contextvars.bound_contextvars(**bound):
                yield
        finally:
            contexts.detach(token)

    def _with_trace(self, carrier: dict[str, str]) -> dict[str, str]:
        if self._is_tracing:
            _propagator.inject(carrier)
        return carrier


def correlation_id() -> str | None:
    """Return the correlation id of what is going on now, if it has one."""
    found = structlog.contextvars.get_contextvars().get("correlation_id")
    return found if isinstance(found, str) else None


def current_trace_id() -> str | None:
    """Return the id of the current trace, for log entries."""
    found = trace.get_current_span().get_span_context()
    return trace.format_trace_id(found.trace_id) if found.is_valid else None


def concern(*, instance_id: str, operation_id: str | None = None) -> None:
    """Say what this is about: the log entries of this request or job carry it from here on."""
    ids = {"instance_id": instance_id, "operation_id": operation_id}
    structlog.contextvars.bind_contextvars(**{name: value for name, value in ids.items() if value})

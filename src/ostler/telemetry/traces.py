"""OpenTelemetry traces, exported to a collector; where none is named, this module is not even loaded.

FastAPI makes the server's spans itself; calls to the cloud are spans of the transport. URLs lose their query
string here, because a query can carry a secret.
"""

import logging
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

import structlog
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from ostler.telemetry.redaction import Redactor

FAREWELL_S = 2.0  # what is left is sent in so long a time, or lost
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
_QUERIES = frozenset({"url.query", "http.query"})


class RedactingExporter(SpanExporter):
    """Hands spans on to an exporter without the queries and secrets in their attributes.

    Says once that the collector is away, and once that it is back.
    """

    def __init__(self, exporter: SpanExporter, redactor: Redactor) -> None:
        self._exporter = exporter
        self._redactor = redactor
        self._is_away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export([self._clean(span) for span in spans])
        self._tell(is_away=result is not SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def _tell(self, *, is_away: bool) -> None:
        if is_away and not self._is_away:
            _log.warning("the collector of traces takes nothing; what it misses is lost")
        elif self._is_away and not is_away:
            _log.info("the collector of traces takes them again")
        self._is_away = is_away

    def _clean(self, span: ReadableSpan) -> ReadableSpan:
        told = (span.attributes or {}).items()
        attributes = {name: self._value(value) for name, value in told if name not in _QUERIES}
        return ReadableSpan(
            name=span.name,
            context=span.get_span_context(),
            parent=span.parent,
            resource=span.resource,
            attributes=attributes,
            events=(),
            links=span.links,
            kind=span.kind,
            status=trace.Status(span.status.status_code),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _value(self, value: object) -> str | int | float | bool:
        if isinstance(value, bool | int | float):
            return value
        text = self._redactor.text(str(value))
        is_address = text.startswith("/") or "://" in text
        return urlunsplit(urlsplit(text)._replace(query="", fragment="")) if is_address else text


def tracing_to(endpoint: str, redactor: Redactor, version: str) -> TracerProvider:
    """Return a provider of spans that exports to the collector; `end` ends it."""
    for name, level in (("opentelemetry.exporter", logging.CRITICAL), ("opentelemetry.sdk", logging.ERROR)):
        logging.getLogger(name).setLevel(level)  # several lines for each batch; one for all is ours
    exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces")
    provider = TracerProvider(
        resource=Resource.create({"service.name": "ostler", "service.version": version}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(RedactingExporter(exporter, redactor)))
    return provider


def end(provider: TracerProvider, at_most_s: float = FAREWELL_S) -> None:
    """Send what is left, but keep nobody waiting for a collector that is away; blocks."""
    farewell = threading.Thread(target=provider.shutdown, name="end of traces", daemon=True)
    farewell.start()
    farewell.join(at_most_s)

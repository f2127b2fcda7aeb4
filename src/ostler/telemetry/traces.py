"""OpenTelemetry traces, exported to a collector; where none is named, this module is not even loaded.

FastAPI makes the server's spans itself; calls to the cloud are spans of the transport. URLs lose their query
string here, because a query can carry a secret.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from ostler.telemetry.redaction import Redactor

_QUERIES = frozenset({"url.query", "http.query"})


class RedactingExporter(SpanExporter):
    """Hands spans on to an exporter without the queries and secrets in their attributes."""

    def __init__(self, exporter: SpanExporter, redactor: Redactor) -> None:
        self._exporter = exporter
        self._redactor = redactor

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([self._clean(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

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
    """Return a provider of spans that exports to the collector."""
    exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces")
    provider = TracerProvider(
        resource=Resource.create({"service.name": "ostler", "service.version": version})
    )
    provider.add_span_processor(BatchSpanProcessor(RedactingExporter(exporter, redactor)))
    return provider

"""Traces: what leaves the process has lost its queries and its secrets."""

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from ostler.telemetry.redaction import Redactor
from ostler.telemetry.traces import RedactingExporter


class Kept(SpanExporter):
    """Keeps what would have left."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return SpanExportResult.SUCCESS


def test_a_span_leaves_without_its_query_and_without_secrets() -> None:
    kept = Kept()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(RedactingExporter(kept, Redactor(["canary-value"]))))
    with provider.get_tracer("test").start_as_current_span("call") as span:
        span.set_attribute("url.full", "https://host/path?key=canary-query")
        span.set_attribute("url.query", "name=canary-bare-query")
        span.set_attribute("note", "it said canary-value")
        span.set_attribute("count", 3)
        span.add_event("exception", {"message": "canary-event"})
    assert "canary" not in kept.spans[0].to_json()
    attributes = kept.spans[0].attributes or {}
    assert (attributes["url.full"], attributes["count"]) == ("https://host/path", 3)

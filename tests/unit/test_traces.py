"""Traces: what leaves the process has lost its queries and its secrets."""

import threading
from collections.abc import Sequence

import structlog
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)

from ostler.telemetry.redaction import Redactor
from ostler.telemetry.traces import RedactingExporter, end


class Kept(SpanExporter):
    """Keeps what would have left."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []
        self.result = SpanExportResult.SUCCESS

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return self.result


class Hanging(SpanExporter):
    """Takes spans and does not come back before it is let go."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 -- the exporter's signature
        self.gate.wait()
        return SpanExportResult.FAILURE


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


def test_an_outage_of_the_collector_is_told_once_and_its_end_too() -> None:
    kept = Kept()
    exporter = RedactingExporter(kept, Redactor([]))
    with structlog.testing.capture_logs() as told:
        for result in (SpanExportResult.FAILURE,) * 3 + (SpanExportResult.SUCCESS,) * 2:
            kept.result = result
            assert exporter.export([]) is result
    assert [entry["log_level"] for entry in told] == ["warning", "info"]


def test_a_stop_does_not_wait_for_a_collector_that_hangs() -> None:
    hanging, provider = Hanging(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(hanging))
    provider.get_tracer("test").start_span("call").end()
    end(provider, at_most_s=0.05)
    assert not hanging.gate.is_set()
    hanging.gate.set()

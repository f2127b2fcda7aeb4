"""The witness of all work: what is logged, measured and traced of each run of a job's body.

A run goes on with the trail of whoever asked for the job (`Trail.origin`, kept in its payload), so one
correlation id and one trace lead from the request to the calls that the work makes. It changes nothing in
what a body does.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from opentelemetry.trace import SpanKind

from ostler.clock import Clock
from ostler.engine.kind import Body, JobContext, Kind, LeaseLost
from ostler.engine.outcome import Done, GiveUp, Outcome, Retry, Wait
from ostler.store.database import StoreUnavailable
from ostler.telemetry.metrics import Metrics
from ostler.telemetry.trail import Trail
from ostler.usecases.desk import KINDS

_WORDS: Mapping[type[Outcome], str] = {Done: "done", Wait: "wait", Retry: "retry", GiveUp: "failed"}
_STOPPED: Mapping[type[BaseException], str] = {
    StoreUnavailable: "interrupted",
    LeaseLost: "lost",
    asyncio.CancelledError: "cancelled",
}
_ABOUT_INSTANCES = frozenset(KINDS.values())
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Witness:
    """Sees every run."""

    trail: Trail
    clock: Clock
    metrics: Metrics

    def of(self, kind: Kind, body: Body) -> Body:
        """Return the body, seen."""
        self.metrics.expect_job(kind.name)

        async def run(context: JobContext) -> Outcome:
            attributes: dict[str, str | int] = {
                "ostler.job.kind": kind.name,
                "ostler.job.attempt": context.attempt,
            }
            with (
                self.trail.continued(context.payload),
                structlog.contextvars.bound_contextvars(**_ids(kind, context)),
                self.trail.span(f"job {kind.name}", SpanKind.CONSUMER, attributes) as span,
            ):
                return await self._watched(kind, body, context, span.set_attribute)

        return run

    async def _watched(
        self, kind: Kind, body: Body, context: JobContext, note: Callable[[str, str], None]
    ) -> Outcome:
        began = self.clock.monotonic()
        word = "error"
        try:
            outcome = await body(context)
        except BaseException as error:
            word = _STOPPED.get(type(error), word)
            raise
        else:
            word = _WORDS[type(outcome)]
            return outcome
        finally:
            seconds = self.clock.monotonic() - began
            self.metrics.record_job(kind.name, word, seconds)
            note("ostler.job.outcome", word)
            level = _log.debug if word == "wait" else _log.info
            level("job", outcome=word, attempt=context.attempt, ms=round(seconds * 1000, 2))


def _ids(kind: Kind, context: JobContext) -> Mapping[str, object]:
    subject = "instance_id" if kind in _ABOUT_INSTANCES else "subject"
    ids: dict[str, object] = {"job_id": context.id, "kind": kind.name, subject: context.subject}
    if "operationId" in context.payload:
        ids["operation_id"] = context.payload["operationId"]
    return ids

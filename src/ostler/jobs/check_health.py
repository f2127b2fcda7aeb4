"""Checking whether the application inside an instance answers: until it is ready, and then every minute.

All endpoints are asked in parallel by a *prober*; what the answers mean is said by `domain/readiness.py`.
Before the first success of a start there is a deadline; afterwards failed probes only take the readiness
away, and it comes back by itself. Never a stop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from sqlalchemy import Connection

from ostler.cloud.refusals import CloudRefusal, Gone
from ostler.cloud.upstream import Endpoint, Upstream
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import Event, State
from ostler.domain.outcomes import health_judged, start_failed
from ostler.domain.readiness import EndpointHealth, Overall, delay_before_retry, is_given_up, overall
from ostler.domain.upstream import UpstreamState
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome, Retry, Wait
from ostler.jobs.commanding import look
from ostler.jobs.workshop import Workshop
from ostler.store.health_reports import HealthReport, find_report, put_report
from ostler.store.operations import open_operation
from ostler.usecases.details import last_look
from ostler.usecases.health_told import health_told
from ostler.usecases.record import Edit, Recorded

_BYTE = 255
_LOOK_AGAIN_AFTER = timedelta(seconds=10)


class Prober(Protocol):
    """Asks endpoints whether they answer."""

    async def probe(self, endpoints: Sequence[Endpoint], policy: HealthPolicy) -> tuple[EndpointHealth, ...]:
        """Ask all endpoints at once; return what each one is, in the same order. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class CheckHealth:
    """The body of `check_health`."""

    shop: Workshop
    prober: Prober

    async def __call__(self, context: JobContext) -> Outcome:
        row = await self.shop.read(context)
        if row is None or row.instance.health is None or not _is_to_be_checked(row.instance):
            return Done()
        policy = row.instance.health
        exposed = await self._exposed(context, row.instance)
        if exposed is None:
            return Retry("its connection details are not known yet")
        endpoints = [endpoint for endpoint in exposed if policy.target_port in {None, endpoint.port}]
        if not endpoints:
            return await self._nothing_to_check(context, policy)
        health = await self.prober.probe(endpoints, policy)
        return await self._judge(context, policy, health)

    async def _exposed(self, context: JobContext, instance: Instance) -> Sequence[Endpoint] | None:
        """Return the endpoints with their addresses; None: the cloud does not show them yet."""
        assert instance.upstream_id is not None, instance.id
        known, report = await context.database.read(lambda connection: _known(connection, context.subject))
        if known is None or known.id != instance.upstream_id or not _is_connectable(known.endpoints):
            shown = await look(context, self.shop, instance.upstream_id)
            known = None if isinstance(shown, Gone) else shown
        elif self._may_have_moved(known, report):
            known = await self._looked_again(context, known)
        if known is None or not _is_connectable(known.endpoints):
            return None
        return known.endpoints

    def _may_have_moved(self, known: Upstream, report: HealthReport | None) -> bool:
        """Where nobody answers at all, the cloud may have given the port another address."""
        is_silent = report is not None and not all(map(_has_answered, report.endpoints))
        return is_silent and self.shop.clock.now() - known.observed_at >= _LOOK_AGAIN_AFTER

    async def _looked_again(self, context: JobContext, known: Upstream) -> Upstream:
        """Return a newer look, if the cloud gives one: being healthy does not depend on the cloud."""
        try:
            shown = await look(context, self.shop, known.id)
        except CloudRefusal:
            return known
        return known if isinstance(shown, Gone) else shown

    async def _judge(
        self, context: JobContext, policy: HealthPolicy, health: tuple[EndpointHealth, ...]
    ) -> Outcome:
        occasion = self.shop.occasion()

        def write(connection: Connection) -> tuple[Recorded, int]:
            before = self.shop.recorder.lock(connection, context.subject)
            failed_rounds = _report(connection, before.instance, health, occasion.at)
            change = health_judged(before.instance, health, occasion.at)
            began_at = _began_at(connection, change.instance)
            if is_given_up(policy, began_at, occasion.at):
                failure = _failure(FailureCode.HEALTH_CHECK_TIMEOUT, _seen(health), occasion.at)
                change = change.then(lambda now: start_failed(now, Event.HEALTH_DEADLINE, failure))
            edit = Edit(change, details=health_told(health, occasion.at))
            return self.shop.recorder.write(connection, before, edit, occasion), failed_rounds

        recorded, failed_rounds = await context.write(write)
        return self._next(recorded.instance, policy, failed_rounds)

    def _next(self, instance: Instance, policy: HealthPolicy, failed_rounds: int) -> Outcome:
        if not _is_to_be_checked(instance):
            return Done()
        if instance.state is State.HEALTH_CHECKING:
            jitter = self.shop.ids.entropy(1)[0] / _BYTE
            return Wait(delay_before_retry(policy, failed_rounds, jitter))
        return Wait(policy.interval) if policy.interval else Done()

    async def _nothing_to_check(self, context: JobContext, policy: HealthPolicy) -> Outcome:
        port = "no port" if policy.target_port is None else f"no port {policy.target_port}"
        message = f"the instance exposes {port} that could be checked"
        failure = _failure(FailureCode.HEALTH_CHECK_FAILED, message, self.shop.clock.now())
        await self.shop.apply(
            context, lambda instance: start_failed(instance, Event.HEALTH_DEADLINE, failure)
        )
        return Done()


def _is_to_be_checked(instance: Instance) -> bool:
    """Beside what is being checked or ready, what failed and still runs: it may answer after all."""
    is_failed_but_runs = (
        instance.state is State.FAILED
        and instance.upstream_id is not None
        and instance.upstream_state is UpstreamState.RUNNING
    )
    return instance.state in {State.HEALTH_CHECKING, State.READY} or is_failed_but_runs


def _known(connection: Connection, instance_id: str) -> tuple[Upstream | None, HealthReport | None]:
    return last_look(connection, instance_id), find_report(connection, instance_id)


def _has_answered(endpoint: EndpointHealth) -> bool:
    return endpoint.is_healthy or endpoint.status_code is not None


def _is_connectable(endpoints: Sequence[Endpoint]) -> bool:
    return all(endpoint.address for endpoint in endpoints)


def _began_at(connection: Connection, instance: Instance) -> datetime:
    """Return since when this start has been checked: the operation's phase says, else the start itself."""
    found = open_operation(connection, instance.id)
    phases = () if found is None else found.operation.phases
    checking = [phase.began_at for phase in phases if phase.name == State.HEALTH_CHECKING.value]
    return checking[-1] if checking else instance.start_began_at or instance.created_at


def _report(
    connection: Connection, instance: Instance, health: tuple[EndpointHealth, ...], at: datetime
) -> int:
    """Keep the round; return how many have failed in a row."""
    before = find_report(connection, instance.id)
    result = overall(health)
    in_a_row = 0 if before is None else before.failed_rounds
    failed_rounds = 0 if result is Overall.HEALTHY else in_a_row + 1
    put_report(connection, HealthReport(instance.id, result, health, failed_rounds, at))
    return failed_rounds


def _seen(health: tuple[EndpointHealth, ...]) -> str:
    bad = [
        f"port {each.port}: {each.message or each.error_category}" for each in health if not each.is_healthy
    ]
    return "not all endpoints answered in time; " + "; ".join(bad)


def _failure(code: FailureCode, message: str, at: datetime) -> Failure:
    return Failure(code, message, at, hint="see healthCheck in the instance's details for every endpoint")

"""Migrating to another machine: the cloud's own migration, or a new attempt elsewhere where the owner
chose that.

Sent once; after a lost answer only if neither the instance nor the cloud's list of jobs shows that it
began. No capacity is retried within the operation's time; then the instance is stopped, with the reason.
"""

from dataclasses import dataclass
from datetime import timedelta

from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import (
    Ambiguous,
    CloudRefusal,
    Gone,
    InvalidState,
    NoCapacity,
    RefusalReason,
    Refused,
)
from ostler.cloud.upstream import Upstream
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.outcomes import migration_failed
from ostler.domain.upstream import UpstreamState
from ostler.engine.kind import JobContext
from ostler.engine.outcome import Done, Outcome, Wait
from ostler.jobs.commanding import Errand, Sent, is_settled, look, send, settle
from ostler.jobs.goals import is_recreation
from ostler.jobs.provision import Provision
from ostler.jobs.restart import has_started_since, was_sent
from ostler.jobs.workshop import Workshop, retry_after

_EFFECT_SHOWS_AFTER = timedelta(seconds=5)
_TRY_AGAIN = timedelta(seconds=15)
_FOR_THE_WATCHER = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Migrate:
    """The body of `migrate_instance`."""

    shop: Workshop
    provision: Provision

    async def __call__(self, context: JobContext) -> Outcome:
        row = await self.shop.read(context)
        if row is None or row.instance.state is not State.MIGRATING:
            return Done()
        instance = row.instance
        if is_recreation(instance):
            return await self.provision(context)
        is_over = is_settled(instance, instance.start_began_at) or instance.predecessor_id is not None
        if is_over or instance.upstream_id is None:
            return Done()
        shown = await look(context, self.shop, instance.upstream_id)
        if isinstance(shown, Gone):
            return Wait(_FOR_THE_WATCHER)
        if was_sent(instance):
            return await self._compare(context, instance, shown)
        return await self._send(context, shown)

    async def _compare(self, context: JobContext, instance: Instance, shown: Upstream) -> Outcome:
        assert instance.command is not None, instance.id
        if _has_begun(instance, shown):
            await settle(context, self.shop, instance.command.sent_at)
            return Done()
        if self.shop.clock.now() - instance.command.sent_at < _EFFECT_SHOWS_AFTER:
            return Wait(_EFFECT_SHOWS_AFTER)
        return await self._send(context, shown)

    async def _send(self, context: JobContext, shown: Upstream) -> Outcome:
        sent = await send(context, self.shop, Errand(_migrate, State.MIGRATING, before=shown))
        return Done() if sent is None else await self._act_on(context, sent)

    async def _act_on(self, context: JobContext, sent: Sent) -> Outcome:
        match sent.refusal:
            case None:
                return Done()
            case Ambiguous() | InvalidState():
                return Wait(_EFFECT_SHOWS_AFTER)
            case NoCapacity() as refusal:
                return await self._wait_for_capacity(context, sent.instance, refusal)
            case Gone():
                return Wait(_FOR_THE_WATCHER)
            case Refused(reason=reason) as refusal if reason is not RefusalReason.CONFLICT:
                return await self._fail(context, FailureCode.REFUSED_BY_CLOUD, str(refusal))
            case refusal:
                return retry_after(refusal, self.shop.clock.now())

    async def _wait_for_capacity(
        self, context: JobContext, instance: Instance, refusal: CloudRefusal
    ) -> Outcome:
        began_at = instance.start_began_at or instance.created_at
        if self.shop.clock.now() + _TRY_AGAIN - began_at >= instance.spec.startup_timeout:
            return await self._fail(context, FailureCode.RESOURCE_CONSTRAINTS, str(refusal))
        return Wait(_TRY_AGAIN)

    async def _fail(self, context: JobContext, code: FailureCode, message: str) -> Outcome:
        failure = Failure(code, message, self.shop.clock.now())
        await self.shop.apply(context, lambda instance: migration_failed(instance, failure))
        return Done()


def _has_begun(instance: Instance, shown: Upstream) -> bool:
    """A job of the cloud that is under way is taken for the migration: it would block another anyway."""
    is_moving = shown.state is UpstreamState.MIGRATING or bool(shown.jobs)
    return is_moving or has_started_since(instance, shown)


async def _migrate(cloud: Cloud, upstream_id: str) -> None:
    await cloud.migrate(upstream_id)

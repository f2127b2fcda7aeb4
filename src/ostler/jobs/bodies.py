"""All bodies by their kinds, as the engine wants them: joined here, so that the assembly need not know
each.

A refusal of the cloud that a body did not judge itself means the same for all: later. It is no error of
the work.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ostler.cloud.catalogue import Catalogue
from ostler.cloud.refusals import CloudRefusal
from ostler.domain.errors import Missing
from ostler.domain.work import WorkKind
from ostler.engine.kind import Body, JobContext, Kind
from ostler.engine.outcome import GiveUp, Outcome
from ostler.jobs.adopting import Adoption
from ostler.jobs.attempting import Attempts
from ostler.jobs.auto_stop import AutoStopCheck
from ostler.jobs.check_health import CheckHealth, Prober
from ostler.jobs.clear_predecessor import ClearPredecessor
from ostler.jobs.delete import Delete
from ostler.jobs.forget_answers import FORGET_ANSWERS, ForgetAnswers
from ostler.jobs.migrate import Migrate
from ostler.jobs.ordering import Orders
from ostler.jobs.provision import Provision
from ostler.jobs.recover import Recover
from ostler.jobs.refresh import Refresh
from ostler.jobs.remove_upstream import RemoveUpstream
from ostler.jobs.restart import Restart
from ostler.jobs.start import Start
from ostler.jobs.stop import Stop
from ostler.jobs.workshop import Workshop, retry_after
from ostler.usecases.auto_stop import AUTO_STOP_CHECK
from ostler.usecases.desk import KINDS
from ostler.usecases.planning import Planner
from ostler.usecases.removal import REMOVE_UPSTREAM
from ostler.usecases.verbs import Verbs


@dataclass(frozen=True, slots=True)
class Crew:
    """What the bodies need of the rest of Ostler."""

    shop: Workshop
    planner: Planner
    catalogue: Catalogue
    verbs: Verbs
    prober: Prober
    does_recover: bool = True  # MIGRATION_ENABLED, and not MIGRATION_DRY_RUN


def bodies(crew: Crew) -> Mapping[Kind, Body]:
    """Return every body under its kind."""
    shop = crew.shop
    attempts = Attempts(shop)
    provision = Provision(
        shop, crew.planner, Orders(shop, crew.catalogue), attempts, Adoption(shop, attempts)
    )
    by_work: Mapping[WorkKind, Body] = {
        WorkKind.CREATE: provision,
        WorkKind.START: Start(shop),
        WorkKind.STOP: Stop(shop),
        WorkKind.RESTART: Restart(shop),
        WorkKind.DELETE: Delete(shop),
        WorkKind.MIGRATE: Migrate(shop, provision),
        WorkKind.RECOVER: Recover(shop, crew.verbs, crew.does_recover),
        WorkKind.CHECK_HEALTH: CheckHealth(shop, crew.prober),
        WorkKind.REFRESH: Refresh(shop),
        WorkKind.CLEAR_PREDECESSOR: ClearPredecessor(shop),
    }
    by_kind = {KINDS[work]: body for work, body in by_work.items()}
    by_kind |= {REMOVE_UPSTREAM: RemoveUpstream(shop), AUTO_STOP_CHECK: AutoStopCheck(shop, crew.verbs)}
    patient = {kind: _patient(body, shop) for kind, body in by_kind.items()}
    return {**patient, FORGET_ANSWERS: ForgetAnswers(shop.clock)}


def _patient(body: Body, shop: Workshop) -> Body:
    async def run(context: JobContext) -> Outcome:
        try:
            return await body(context)
        except CloudRefusal as refusal:
            return retry_after(refusal, shop.clock.now())
        except Missing as error:
            return GiveUp(str(error))

    return run

"""The clients of chaos on the twin: each looks after one instance and asks until it is answered.

As good as those of `chaos_load.py`, but in this event loop and its virtual time. `Claims` keeps what they
were told.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

from ostler.clock import Clock
from ostler.domain.catalogue import BillingMode
from ostler.domain.errors import NoOfferAnywhere, VerbRefused
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.phases import Wanted
from ostler.domain.spec import OnReclaim
from ostler.domain.start_requests import StartRequest
from ostler.store.database import StoreUnavailable
from ostler.usecases.asking import ById
from ostler.usecases.market import CatalogueUnknown
from ostler.usecases.verbs import Answer
from tests.support.process import SOMEBODY, Ostler, a_wish

T = TypeVar("T")
VERBS = ("stop", "stop", "start", "start", "restart", "migrate", "delete")
WISHES = {
    "stop": Wanted.STOPPED,
    "delete": Wanted.TERMINATED,
    "start": Wanted.RUNNING,
    "restart": Wanted.RUNNING,
    "migrate": Wanted.RUNNING,
}
_PATIENCE_S = 30.0  # for one answer
_AGAIN_S = 2.0
_STARTUP = timedelta(hours=2)  # an outage shall not be taken for a start that fails


@dataclass(slots=True)
class Claims:
    """What clients were told, and how often they had to ask."""

    wishes: dict[str, Wanted | None] = field(default_factory=dict)  # None: it is not certain
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Client:
    """One client: whom it asks is whoever lives now."""

    number: int
    seed: int
    clock: Clock
    living: Callable[[], Ostler | None]
    claims: Claims

    async def live(self) -> None:
        """Create an instance, ask this and that of it, and maybe delete it."""
        dice = random.Random(f"{self.seed} {self.number}")  # noqa: S311 -- a run that can be repeated
        await self.clock.sleep(dice.uniform(0, 20))
        spec = replace(a_wish(f"demo-{self.number}"), startup_timeout=_STARTUP)
        if dice.random() < 0.3:
            spec = replace(spec, health=HealthPolicy())
        if dice.random() < 0.4:
            on_reclaim = dice.choice((OnReclaim.MIGRATE, OnReclaim.RECREATE))
            spec = replace(spec, billing_mode=BillingMode.SPOT, on_reclaim=on_reclaim)
        created, _ = await self._asked(lambda ostler: ostler.accept(spec, f"create {self.number}"))
        assert created is not None, "only verbs are refused"
        self.claims.wishes[created.instance_id] = Wanted.RUNNING
        for _ in range(dice.randint(0, 6)):
            await self.clock.sleep(dice.choice((0.0, 1.0, 20.0, 60.0)) * dice.random())
            await self._verb(dice.choice(VERBS), created.instance_id)
        if dice.random() < 0.5:
            await self._verb("delete", created.instance_id)

    async def _verb(self, verb: str, instance_id: str) -> None:
        answer, was_heard = await self._asked(lambda ostler: _say(ostler, verb, ById(instance_id)))
        if answer is not None:
            self.claims.wishes[instance_id] = WISHES[verb]
        elif was_heard:  # refused, but an earlier try may have been accepted
            self.claims.wishes[instance_id] = None

    async def _asked(self, ask: Callable[[Ostler], Awaitable[T]]) -> tuple[T | None, bool]:
        """Ask until there is an answer (None: refused); tell whether an earlier try may have been heard."""
        was_heard = False
        while True:
            ostler = self.living()
            if ostler is not None:
                self.claims.requests += 1
                try:
                    async with asyncio.timeout(_PATIENCE_S):
                        return await ask(ostler), was_heard
                except VerbRefused:
                    return None, was_heard
                except NoOfferAnywhere:
                    pass  # sold out everywhere, as far as is remembered: asked again later
                except asyncio.CancelledError:
                    if _is_ended():
                        raise
                    was_heard = True  # the process died under the request
                except (TimeoutError, CatalogueUnknown, StoreUnavailable, RuntimeError):
                    was_heard = True  # a RuntimeError: the dead process had closed its connections
            await self.clock.sleep(_AGAIN_S)


def _is_ended() -> bool:
    """Tell whether this client itself was cancelled, and not only what it asked."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _say(ostler: Ostler, verb: str, target: ById) -> Answer:
    match verb:
        case "stop":
            return await ostler.verbs.stop(target, SOMEBODY)
        case "delete":
            return await ostler.verbs.delete(target, SOMEBODY)
        case "restart":
            return await ostler.verbs.restart(target, SOMEBODY)
        case "migrate":
            return await ostler.verbs.migrate(target, SOMEBODY, accepts_data_loss=True)
        case _:
            return await ostler.verbs.start(target, SOMEBODY, StartRequest(), HealthPolicy())

"""One exchange: who asks and the use cases that answer, as every route about instances wants them.

A route takes it as `on: Exchange`. The doors have let the caller in by then.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from ostler.api.caller import Caller
from ostler.api.instance_backing import InstanceBacking
from ostler.usecases.asking import Asker
from ostler.usecases.record import Occasion


@dataclass(frozen=True, slots=True)
class ExchangeOf:
    """Handed to a route as `on: Exchange`."""

    caller: Caller
    asker: Asker  # the caller, as far as use cases care
    instances: InstanceBacking
    occasion: Occasion  # now, in the name of who asks


async def _exchange(request: Request) -> ExchangeOf:
    caller, instances = request.state.caller, request.app.state.instances
    assert isinstance(caller, Caller), "the doors let nobody in without a name"
    assert isinstance(instances, InstanceBacking)
    occasion = Occasion(request.app.state.backing.clock.now(), caller.name)
    return ExchangeOf(caller, caller.asker, instances, occasion)


Exchange = Annotated[ExchangeOf, Depends(_exchange)]

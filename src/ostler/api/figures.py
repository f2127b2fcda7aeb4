"""Where the figures come from that `GET /api/metrics` tells: counters, the tally, and what is read at once.

Put together once by assembly; nothing here asks the database or the cloud.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from ostler.cloud.caches import Caches
from ostler.cloud.transport import Transport
from ostler.telemetry.metrics import Metrics
from ostler.usecases.tally import Tally
from ostler.watch.standing import WatchStanding


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that is counted."""

    metrics: Metrics
    tally: Tally
    transport: Transport
    caches: Caches
    watcher: WatchStanding


async def _figures(request: Request) -> Figures:
    found = request.app.state.figures
    assert isinstance(found, Figures)
    return found


WithFigures = Annotated[Figures, Depends(_figures)]

"""What routes may ask for: the parts of Ostler that answer requests, handed in by type.

A route names what it needs in its signature (`catalogue: WithCatalogue`); assembly fills `Backing` once.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from ostler.api.audited import Journal
from ostler.api.patience import Patience
from ostler.clock import Clock
from ostler.cloud.caches import Caches
from ostler.cloud.catalogue import Catalogue
from ostler.telemetry.metrics import Metrics
from ostler.usecases.audit import AuditLog
from ostler.usecases.comprehensive import Comprehensive
from ostler.usecases.health import Health
from ostler.usecases.instance_logs import ReadLogs
from ostler.usecases.keys import Keys


@dataclass(frozen=True, slots=True)
class Backing:
    """Everything that routes are served by."""

    catalogue: Catalogue
    patience: Patience
    caches: Caches
    comprehensive: Comprehensive
    logs: ReadLogs
    health: Health
    metrics: Metrics
    clock: Clock
    is_simulated: bool
    keys: Keys
    journal: Journal


async def backing_of(request: Request) -> Backing:
    """Return the services of the application that answers this request."""
    found = request.app.state.backing
    assert isinstance(found, Backing)
    return found


WithBacking = Annotated[Backing, Depends(backing_of)]


async def _catalogue(backing: WithBacking) -> Catalogue:
    return backing.catalogue


async def _caches(backing: WithBacking) -> Caches:
    return backing.caches


async def _comprehensive(backing: WithBacking) -> Comprehensive:
    return backing.comprehensive


async def _keys(backing: WithBacking) -> Keys:
    return backing.keys


async def _logs(backing: WithBacking) -> ReadLogs:
    return backing.logs


async def _patience(backing: WithBacking) -> Patience:
    return backing.patience


async def _audit_log(backing: WithBacking) -> AuditLog:
    return backing.journal.log


WithAuditLog = Annotated[AuditLog, Depends(_audit_log)]
WithCatalogue = Annotated[Catalogue, Depends(_catalogue)]
WithCaches = Annotated[Caches, Depends(_caches)]
WithComprehensive = Annotated[Comprehensive, Depends(_comprehensive)]
WithKeys = Annotated[Keys, Depends(_keys)]
WithLogs = Annotated[ReadLogs, Depends(_logs)]
WithPatience = Annotated[Patience, Depends(_patience)]

"""Doing the same to many instances, a few at once, so that trouble with one does not keep the others waiting.

What ends the watcher's term (the lead is lost, the database is away) ends all of it; any other error is
logged with the id that it is about.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from ostler.engine.leader import LeadershipLost
from ostler.store.database import StoreUnavailable

T = TypeVar("T")
R = TypeVar("R")
AT_ONCE = 8
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


async def each(
    items: Sequence[T], act: Callable[[T], Awaitable[R]], name: Callable[[T], str], at_once: int = AT_ONCE
) -> list[R]:
    """Act on all items; return the results of those that went well, in their order."""
    slots = asyncio.Semaphore(at_once)

    async def one(item: T) -> R:
        async with slots:
            return await act(item)

    results = await asyncio.gather(*(one(item) for item in items), return_exceptions=True)
    good: list[R] = []
    for item, result in zip(items, results, strict=True):
        if isinstance(result, LeadershipLost | StoreUnavailable):
            raise result
        if isinstance(result, Exception):
            _log.error("watching failed for one", subject=name(item), exc_info=result)
        elif isinstance(result, BaseException):
            raise result
        else:
            good.append(result)
    return good

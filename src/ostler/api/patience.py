"""Patience: how long a request waits for what only the cloud can say, before it is answered without.

What was asked of the cloud goes on meanwhile and is kept: whoever asks again finds it.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from ostler.cloud.refusals import TimedOut

T = TypeVar("T")

PATIENCE_S = 10.0  # a cloud that is well answers the whole catalogue in one or two


async def in_time(what: str, answer: Awaitable[T]) -> T:
    """Return the answer; raise TimedOut, which names what was asked for, when it does not come in time."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await answer
    except TimeoutError as error:
        raise TimedOut(what, f"no answer within {PATIENCE_S:g} s") from error

"""The outermost loops' last resort: a step that fails is logged and tried again, and never ends its loop.

A database that is away is expected and costs a line; anything else is a defect and costs a trace.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from ostler.store.database import StoreUnavailable

T = TypeVar("T")
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


async def outlive(step: Callable[[], Awaitable[T]], doing: str) -> T | None:
    """Return what the step returns, or None when it failed."""
    try:
        return await step()
    except StoreUnavailable as error:
        _log.warning("the engine waits for the database", doing=doing, reason=str(error))
    except Exception:  # noqa: BLE001 -- an outermost loop: it must outlive any defect
        _log.exception("the engine has a defect", doing=doing)
    return None

"""The body of the lead: the watcher and the regular probes, side by side, by the same process.

When one of them ends, the lead does.
"""

import asyncio

from ostler.engine.leader import Term
from ostler.watch.probes import Probes
from ostler.watch.watcher import Watcher


class Lookout:
    """Watches and probes."""

    def __init__(self, watcher: Watcher, probes: Probes) -> None:
        self._watcher = watcher
        self._probes = probes

    async def __call__(self, term: Term) -> None:
        """Watch and probe for as long as the lead lasts."""
        parts = [asyncio.ensure_future(part(term)) for part in (self._watcher, self._probes)]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in done:
                part.result()
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

"""Looking up names that somebody gave us, each in a thread that nobody waits for at exit.

`getaddrinfo` knows no timeout, and a name server of somebody's own choice can stall it. So at most a few
run at once, never in the executor that the rest of the process shares, and a stop does not join them. What
is an address already is checked at once.
"""

import asyncio
import contextlib
import socket
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address

from ssrfguard import Address, Policy, Resolver, SSRFGuardError, Target, resolve

_AT_ONCE = 8
Answer = asyncio.Future[tuple[Address, ...]]


class Lookups:
    """Finds out the addresses of a host, and refuses the host if the policy forbids any of them."""

    def __init__(
        self, policy: Policy, resolver: Resolver = socket.getaddrinfo, at_once: int = _AT_ONCE
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._free = asyncio.Semaphore(at_once)

    async def permitted(self, host: str, port: int) -> tuple[Address, ...]:
        """Return all addresses of a host; raise ssrfguard's refusal, or OSError for a name without any."""
        target = Target("https", host, port, host, _literal(host))
        if target.is_literal_address:
            return resolve(target, policy=self._policy)
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        answer: Answer = loop.create_future()
        arguments = (target, loop, answer)
        threading.Thread(target=self._look_up, args=arguments, name="lookup", daemon=True).start()
        return await answer

    def _look_up(self, target: Target, loop: asyncio.AbstractEventLoop, answer: Answer) -> None:
        outcome: tuple[Address, ...] | Exception = OSError("the look-up ended without an answer")
        try:
            outcome = resolve(target, policy=self._policy, resolver=self._resolver)
        except (OSError, ValueError, SSRFGuardError) as error:
            outcome = error
        finally:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
                loop.call_soon_threadsafe(self._settle, answer, outcome)

    def _settle(self, answer: Answer, outcome: tuple[Address, ...] | Exception) -> None:
        self._free.release()  # only now: a look-up whose caller gave up still holds its thread
        if answer.done():
            return
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None

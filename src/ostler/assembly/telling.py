"""What tells the world: the live feed and the webhooks of one process, running while a block lasts.

Both read what transactions wrote; neither is needed for an instance to be looked after.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from opentelemetry.trace import SpanKind

from ostler.assembly.core import Core, Surroundings
from ostler.clock import SystemClock
from ostler.cloud.reach import Reach
from ostler.notify.endpoints import Webhooks
from ostler.notify.feed import Feed
from ostler.notify.keyring import Keyring
from ostler.notify.outbound import Outbound, OutboundConfig, Reply
from ostler.notify.sender import Post, Sender, SenderConfig
from ostler.settings import Settings

_GRACE = timedelta(seconds=1)  # for deliveries that are being sent when the process stops


@dataclass(frozen=True, slots=True)
class News:
    """How the rest of the process speaks to what tells the world."""

    feed: Feed
    webhooks: Webhooks
    reach: Reach


@asynccontextmanager
async def telling(
    core: Core, settings: Settings, around: Surroundings, trust: ssl.SSLContext
) -> AsyncIterator[News]:
    """Follow the log and deliver webhooks."""
    clock = around.clock
    reach = Reach(allow_private=settings.webhook_allow_private, allow_loopback=settings.is_simulated)
    timeout = timedelta(milliseconds=settings.webhook_timeout_ms)
    keyring = Keyring(core.sealer, settings.webhook_secret)
    webhooks = Webhooks(core.database, keyring, clock)
    await webhooks.settle(str(settings.webhook_url) if settings.webhook_url else None)
    outbound = Outbound(OutboundConfig(timeout.total_seconds(), reach), clock, trust=trust)
    post = _seen(outbound.post, around)
    # receivers compare what was signed with clocks of their own: it has to be the machine's time
    sender = Sender(core.database, post, keyring, SystemClock(), SenderConfig(core.owner, timeout))
    feed = Feed(core.database, clock)
    loops = [asyncio.create_task(part.run(), name=type(part).__name__) for part in (feed, sender)]
    try:
        yield News(feed, webhooks, reach)
    finally:
        feed.close()
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)
        await sender.drain(_GRACE)
        await outbound.aclose()


def _seen(post: Post, around: Surroundings) -> Post:
    """Return the way to receivers, measured and traced; of addresses only the host: paths hold secrets."""

    async def seen(url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        began = around.clock.monotonic()
        attributes = {"http.request.method": "POST", "server.address": urlsplit(url).hostname or ""}
        with around.trail.span("webhook delivery", SpanKind.CLIENT, attributes) as span:
            reply = await post(url, headers, body)
            if reply.status is not None:
                span.set_attribute("http.response.status_code", reply.status)
        around.metrics.record_delivery(_outcome(reply), around.clock.monotonic() - began)
        return reply

    return seen


def _outcome(reply: Reply) -> str:
    if reply.is_delivered:
        return "delivered"
    return "unreachable" if reply.status is None else "refused"

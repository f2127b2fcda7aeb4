"""The *logs* of the pretend cloud's instances: what their addresses show, at once or as it comes.

`?tail=N` wants the last lines, `?follow=1` those to come, too; a log that is followed ends with its instance.
"""

import asyncio
import re
from dataclasses import dataclass

from starlette.types import Message, Receive, Send

from ostler.simulator.clock import pause
from ostler.simulator.cloud import Cloud
from ostler.simulator.connection import stay_silent
from ostler.simulator.exchange import Reply, gateway_reply
from ostler.simulator.instance import Instance
from ostler.simulator.status import Status
from ostler.simulator.world import World

LOG_PATH = re.compile(r"/logs/(?P<log>system|instance)/(?P<id>[^/]+)/?")
_DEFAULT_TAIL = 100
_NUMBER = re.compile(r"[0-9]{1,9}")
_EVERY_S = 0.05  # real seconds between two looks at a log that is followed
_TYPE = "text/plain"


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which log, and what of it."""

    log: str
    instance_id: str
    tail: int = _DEFAULT_TAIL
    follow: bool = False


def log_query(path: str, tail: str = "", follow: str = "") -> LogQuery | None:
    """Return what is asked of a log; None: the path is none of a log."""
    match = LOG_PATH.fullmatch(path)
    if match is None:
        return None
    count = int(tail) if _NUMBER.fullmatch(tail) else _DEFAULT_TAIL
    return LogQuery(match["log"], match["id"], count, follow in {"1", "true"})


def log_reply(world: World, query: LogQuery) -> Reply:
    """Return the end of a log as it is now."""
    instance = world.instances.get(query.instance_id)
    if instance is None:
        return gateway_reply(404, "Not Found")
    return Reply(200, _text(_last(_lines(world, instance, query.log), query.tail)), content_type=_TYPE)


async def follow_log(cloud: Cloud, query: LogQuery, receive: Receive, send: Send) -> None:
    """Send the end of a log and what comes, until the instance is gone or the client leaves."""
    leaving = asyncio.create_task(stay_silent(receive))
    headers = [(b"content-type", _TYPE.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    told = None
    while not leaving.done():
        cloud.catch_up()
        instance = cloud.world.instances.get(query.instance_id)
        if instance is None or instance.status is Status.REMOVED:
            break
        lines = _lines(cloud.world, instance, query.log)
        fresh = _last(lines, query.tail) if told is None else lines[told:]
        told = len(lines)
        if fresh:
            await send(_piece(_text(fresh), is_last=False))
        await pause(_EVERY_S)
    leaving.cancel()
    await send(_piece(b"", is_last=True))


def _piece(body: bytes, *, is_last: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": not is_last}


def _last(lines: list[str], count: int) -> list[str]:
    return lines[-count:] if count else []


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _lines(world: World, instance: Instance, log: str) -> list[str]:
    lines = [f"{int(instance.created_at)} created {instance.image_url}"]
    if instance.last_started_at:
        lines.append(f"{int(instance.last_started_at)} container started")
        if log == "instance" and instance.app.listens(world.now - instance.last_started_at):
            lines.append(f"{int(instance.last_started_at + instance.app.ready_after_s)} application listens")
    if instance.last_stopped_at:
        lines.append(f"{int(instance.last_stopped_at)} container stopped")
    return lines

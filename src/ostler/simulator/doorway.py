"""The *doorway*: one listener that answers for the HTTP ports, logs and terminals of all instances.

`/i/<instance>/<port>/…` is what the cloud's gateway shows for that port: its own 502 until the application
listens, then whatever the application's script (`app.py`) says. There is no process behind it.
"""

import re

from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.types import ASGIApp, Receive, Scope, Send

from ostler.simulator.app import AppMood
from ostler.simulator.clock import pause
from ostler.simulator.cloud import Cloud
from ostler.simulator.exchange import Hangup, Outcome, Reply, gateway_reply
from ostler.simulator.instance import Instance
from ostler.simulator.logs import follow_log, log_query, log_reply
from ostler.simulator.server import play
from ostler.simulator.status import CONNECTED
from ostler.simulator.world import World

BAD_GATEWAY = (502, "Bad Gateway")
_PORT_PATH = re.compile(r"/i/(?P<id>[^/]+)/(?P<port>[0-9]{1,5})(?:/.*)?")
_TERMINAL_PATH = re.compile(r"/terminal/(?P<id>[^/]+)/?")


def create_doorway(cloud: Cloud) -> ASGIApp:
    """Return the app that plays all instances' applications."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = HttpRequest(scope, receive)
        try:
            await request.body()
        except ClientDisconnect:
            return
        cloud.catch_up()
        tail, follow = (request.query_params.get(name, "") for name in ("tail", "follow"))
        wanted = log_query(request.url.path, tail, follow)
        if wanted is not None and wanted.follow and wanted.instance_id in cloud.world.instances:
            await follow_log(cloud, wanted, receive, send)
            return
        outcome, delay_s = at_the_door(cloud.world, request.url.path, tail)
        await pause(delay_s)
        await play(outcome, scope, receive, send)

    return app


def at_the_door(world: World, path: str, tail: str = "") -> tuple[Outcome, float]:
    """Return what a path shows now, and after how many real seconds."""
    match = _PORT_PATH.fullmatch(path)
    if match is not None:
        return _port(world, world.instances.get(match["id"]), int(match["port"]))
    log = log_query(path, tail)
    if log is not None:
        return log_reply(world, log), 0.0
    match = _TERMINAL_PATH.fullmatch(path)
    if match is not None and _is_connected(world.instances.get(match["id"])):
        return Reply(200, b"a terminal would open here\n", content_type="text/plain"), 0.0
    return gateway_reply(404, "Not Found"), 0.0


def _port(world: World, instance: Instance | None, port: int) -> tuple[Outcome, float]:
    if instance is None:
        return gateway_reply(404, "Not Found"), 0.0
    if not _is_connected(instance):
        return gateway_reply(*BAD_GATEWAY), 0.0
    exposed = {each.port for each in instance.ports if each.type == "http"}
    exposed |= {tool.port for tool in instance.tools}
    script = instance.app
    if port not in exposed or not script.listens(world.now - instance.last_started_at):
        return gateway_reply(*BAD_GATEWAY), 0.0
    match script.mood:
        case AppMood.RESET | AppMood.REFUSED | AppMood.TLS_FAILURE:
            return Hangup(), script.delay_s  # somebody kept the address from before the trouble
        case AppMood.ERROR_BODY:
            page = gateway_reply(*BAD_GATEWAY)
            return Reply(200, page.body, content_type=page.content_type), script.delay_s
        case _:
            return Reply(script.status, script.body.encode(), content_type="text/plain"), script.delay_s


def _is_connected(instance: Instance | None) -> bool:
    return instance is not None and instance.status in CONNECTED

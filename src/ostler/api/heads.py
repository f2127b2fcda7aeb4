"""HEAD: wherever there is GET, the same without its body, for whoever only asks whether something is there.

The request goes on as a GET, so that permissions, limits and the audit log are those of a GET. It waits for
nothing and changes nothing: what would make a GET wait, look anew or redeem a link is left out of its query,
and a stream ends before it begins.
"""

import asyncio
from urllib.parse import unquote_plus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LEFT_OUT = frozenset({"waitFor", "syncLocalState", "token"})
_FOUND = ("route", "path_params")  # by the routes, for whoever counts and logs requests
_LENGTH = b"content-length"
_END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class Heads:
    """The ASGI layer around all that answers GET."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        query = _without_waiting(scope["query_string"])
        asked: Scope = dict(scope, method="GET", query_string=query)  # the server keeps its own word
        streams = asyncio.Event()

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send(_END)
                if not any(name.lower() == _LENGTH for name, _ in message["headers"]):
                    streams.set()  # it would go on until somebody leaves

        answering = asyncio.ensure_future(self._app(asked, receive, send_head))
        streaming = asyncio.ensure_future(streams.wait())
        try:
            await asyncio.wait((answering, streaming), return_when=asyncio.FIRST_COMPLETED)
        finally:
            streaming.cancel()
            answering.cancel()
            ended = await asyncio.gather(answering, return_exceptions=True)
            scope.update({name: asked[name] for name in _FOUND if name in asked})
        if isinstance(ended[0], Exception):
            raise ended[0]


def _without_waiting(query: bytes) -> bytes:
    pairs = query.split(b"&")
    return b"&".join(
        pair for pair in pairs if unquote_plus(pair.partition(b"=")[0].decode("latin-1")) not in _LEFT_OUT
    )

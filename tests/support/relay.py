"""A relay between Ostler and its cloud: passes every call on and remembers the headers that it carried.

`relaying(address)` gives one on a free port; the cloud itself need not know of it.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

_OWN_WAY = frozenset({"host", "content-length", "connection", "transfer-encoding", "content-encoding"})


@dataclass(frozen=True, slots=True)
class Call:
    """One call that was passed on."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case


@dataclass
class Relay:
    """What has passed so far, and where."""

    url: str = ""
    calls: list[Call] = field(default_factory=list)

    def calls_to(self, ending: str) -> list[Call]:
        """Return the calls whose path ends so."""
        return [call for call in self.calls if call.path.partition("?")[0].endswith(ending)]


@contextmanager
def relaying(address: str) -> Iterator[Relay]:
    """Pass on what comes for the block."""
    relay = Relay()
    client = httpx2.Client(base_url=address, timeout=60, trust_env=False)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            relay.calls.append(Call(self.command, self.path, headers))
            body = self.rfile.read(int(headers.get("content-length", 0)))
            sent = {name: value for name, value in headers.items() if name not in _OWN_WAY}
            answer = client.request(self.command, self.path, headers=sent, content=body)
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name.lower() not in _OWN_WAY:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PUT = do_DELETE = _pass_on  # noqa: N815 -- the library's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with client, ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        relay.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield relay
        finally:
            server.shutdown()
            thread.join(10)

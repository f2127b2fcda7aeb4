"""A plain HTTP server on loopback that takes and keeps whatever is posted to it: a receiver, or a collector.

For tests of whole processes, which have no event loop of their own.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True)
class Caught:
    """What came in: paths, headers and bodies, as they were sent."""

    port: int
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def bodies(self, path: str) -> list[bytes]:
        """Return what was posted to a path and what lies below it."""
        return [body for where, _, body in self.requests if where.startswith(path)]


@contextmanager
def catching() -> Iterator[Caught]:
    """Listen for a block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            caught.requests.append((self.path, dict(self.headers), self.rfile.read(length)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the library's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    caught = Caught(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield caught
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

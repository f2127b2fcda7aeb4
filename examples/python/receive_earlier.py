"""Receives Ostler's webhooks as receivers of the earlier service do, by the standard library alone.

`X-Webhook-Signature` is `sha256=` and the HMAC of the body under `WEBHOOK_SECRET`, `X-Webhook-Timestamp` the
time of sending. Nothing stops a message that is sent again: prefer receive.py. `PORT` is where to listen.
"""

import hashlib
import hmac
import json
import os
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()
TOLERANCE = timedelta(minutes=5)


class Receiver(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_POST(self) -> None:
        """Take a message that is genuine and fresh, refuse any other."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        expected = f"sha256={hmac.new(SECRET, body, hashlib.sha256).hexdigest()}"
        is_genuine = hmac.compare_digest(expected, self.headers.get("X-Webhook-Signature", ""))
        if not is_genuine or not is_fresh(self.headers.get("X-Webhook-Timestamp", "")):
            self.send_error(401, "not signed with the secret of this receiver, or too old")
            return
        message = json.loads(body)
        kept = ("event", "instanceId", "status", "sequence")
        print(json.dumps({name: message.get(name) for name in kept}), flush=True)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print messages alone."""


def is_fresh(sent_at: str) -> bool:
    """Tell whether a message was sent just now."""
    try:
        age = datetime.now(UTC) - datetime.fromisoformat(sent_at)
    except (TypeError, ValueError):
        return False
    return abs(age) < TOLERANCE


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()

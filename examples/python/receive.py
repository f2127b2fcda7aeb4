"""Receives Ostler's webhooks, verified with the official library, `pip install standardwebhooks`.

`WEBHOOK_SECRET` is the secret of the endpoint, `PORT` where to listen on 127.0.0.1 (0: any free port). Every
message that is genuine and new is printed as a line of JSON; a message may come twice, its id tells.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

SECRET = os.environ["WEBHOOK_SECRET"]
# `whsec_…` is base64; any other secret is its own bytes
WEBHOOK = Webhook(SECRET if SECRET.startswith("whsec_") else SECRET.encode())
handled: set[str] = set()  # in earnest: a table with a unique key


class Receiver(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_POST(self) -> None:
        """Take a message that is genuine, refuse any other."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        try:
            message = WEBHOOK.verify(body, {name.lower(): value for name, value in self.headers.items()})
        except WebhookVerificationError:
            self.send_error(400, "not signed with the secret of this receiver")
            return
        if self.headers["webhook-id"] not in handled:
            handled.add(self.headers["webhook-id"])
            kept = ("event", "instanceId", "status", "sequence")
            print(json.dumps({name: message.get(name) for name in kept}), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print messages alone."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()

"""Rents a GPU as clients of the earlier service do: posts, and asks again until it is so. Needs `requests`.

It leads one instance through its life: create, stop, start by id and by name with a health check, delete.
`OSTLER_URL` says where Ostler is; `OSTLER_KEY` is sent and `WEBHOOK_URL` called back where they are set.
"""

import os
import sys
import time
from collections.abc import Mapping

import requests

SERVER = os.environ.get("OSTLER_URL", "http://127.0.0.1:3000")
KEY = os.environ.get("OSTLER_KEY", "")
WEBHOOK = {"webhookUrl": os.environ["WEBHOOK_URL"]} if os.environ.get("WEBHOOK_URL") else {}
PAUSE_S = float(os.environ.get("POLL_SECONDS", "5"))
PATIENCE_S = 1800
Body = Mapping[str, str | int | Mapping[str, int]]
START: Body = {
    "healthCheckConfig": {
        "timeoutMs": 10_000,
        "retryAttempts": 3,
        "retryDelayMs": 500,
        "maxWaitTimeMs": 300_000,
        "targetPort": 8888,
    },
    "targetPort": 8888,
    **WEBHOOK,
}


class Client:
    """The few calls that it takes."""

    def __init__(self) -> None:
        self._session = requests.Session()
        if KEY:
            self._session.headers["Authorization"] = f"Bearer {KEY}"

    def create(self, name: str) -> str:
        """Ask for an instance and return its id."""
        body: Body = {
            "name": name,
            "productName": "RTX 4090 24GB",
            "templateId": "102",
            "gpuNum": 1,
            "rootfsSize": 60,
            "region": "CN-HK-01",
            **WEBHOOK,
        }
        return str(self._call("POST", "/api/instances", body)["instanceId"])

    def start(self, instance_id: str) -> None:
        """Start by id."""
        self._call("POST", f"/api/instances/{instance_id}/start", START)

    def start_by_name(self, name: str) -> None:
        """Start by name."""
        self._call("POST", "/api/instances/start", {"instanceName": name, **START})

    def stop(self, instance_id: str) -> None:
        """Stop by id."""
        self._call("POST", f"/api/instances/{instance_id}/stop", {})

    def stop_by_name(self, name: str) -> None:
        """Stop by name."""
        self._call("POST", "/api/instances/stop", {"instanceName": name})

    def delete(self, instance_id: str) -> None:
        """Delete by id."""
        self._call("DELETE", f"/api/instances/{instance_id}")

    def until(self, instance_id: str, status: str) -> dict[str, object]:
        """Ask until the instance is in a status, and return its details."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = self._call("GET", f"/api/instances/{instance_id}")
            if found["status"] == status:
                return found
            if found["status"] == "failed":
                sys.exit(f"failed: {found['error']}")
            time.sleep(PAUSE_S)
        sys.exit(f"{instance_id} is not {status} after {PATIENCE_S} s")

    def _call(self, method: str, path: str, body: Body | None = None) -> dict[str, object]:
        answer = self._session.request(method, SERVER + path, json=body, timeout=30)
        if not answer.ok:
            sys.exit(f"{method} {path}: {answer.status_code} {answer.text}")
        found: dict[str, object] = answer.json()
        return found


def main(name: str) -> None:
    """Lead one instance through its life."""
    client = Client()
    instance_id = client.create(name)
    print(f"created {instance_id}", flush=True)
    show(client.until(instance_id, "running"))
    client.stop(instance_id)
    client.until(instance_id, "exited")
    client.start(instance_id)
    client.until(instance_id, "ready")
    print("ready, started by id")
    client.stop_by_name(name)
    client.until(instance_id, "exited")
    client.start_by_name(name)
    show(client.until(instance_id, "ready"))
    print("ready, started by name")
    client.delete(instance_id)
    client.until(instance_id, "terminated")
    print("terminated")


def show(details: dict[str, object]) -> None:
    """Print how to get in."""
    connection, ports = details["connectionDetails"], details["portMappings"]
    if not isinstance(connection, dict) or not isinstance(ports, list):
        sys.exit(f"these are no details of an instance: {details}")
    print(f"ssh {connection['ssh']}")
    for each in ports:
        print(f"port {each['port']} {each['type']} {each['endpoint']}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "example-python")

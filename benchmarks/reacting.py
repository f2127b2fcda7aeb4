"""How soon the cloud is asked, and how soon it is believed: stop and delete, and `running` after the cloud.

A verb is followed from its request to its call at the cloud. An instance is followed from the instant at
which the cloud says that it runs, by the cloud's own clock, to the answer of a long poll.
"""

import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks._site import Site, folder, site
from benchmarks._table import Line, heading
from benchmarks.reads import settle

INSTANCES = 20
FAST_POLL_S = 3.0  # as shipped


def main() -> None:
    """Measure; about a minute."""
    heading()
    with folder() as where, site(where) as found:
        found.stock_up()
        ids = [found.created(f"bench-{number}") for number in range(INSTANCES)]
        settle(found)
        found.control("/clock", speed=1)
        half = INSTANCES // 2
        _show("stop → the call reaches the cloud", "< 0.2 s", [_stopped(found, each) for each in ids[:half]])
        _show(
            "delete → the call reaches the cloud", "< 0.2 s", [_deleted(found, each) for each in ids[half:]]
        )
    with folder() as where, site(where, 10) as found:
        found.stock_up()
        with ThreadPoolExecutor(INSTANCES) as pool:
            lags = list(pool.map(lambda number: _lag(found, number), range(INSTANCES)))
        goal = f"≤ {FAST_POLL_S + 0.5} s (fast poll + 0.5 s)"
        _show("cloud says running → `running` here", goal, lags)


def _stopped(found: Site, instance_id: str) -> float:
    return _until_called(found, "stop", f"/api/instances/{instance_id}/stop", "POST")


def _deleted(found: Site, instance_id: str) -> float:
    return _until_called(found, "delete", f"/api/instances/{instance_id}", "DELETE")


def _until_called(found: Site, verb: str, path: str, method: str) -> float:
    before = found.calls(verb)
    began = time.perf_counter()
    found.api.request(method, path).raise_for_status()
    while found.calls(verb) == before:
        pass  # each look takes a millisecond
    return time.perf_counter() - began


def _lag(found: Site, number: int) -> float:
    """Create one instance; return how long after the cloud it was seen to run, in our seconds."""
    threading.Event().wait(number * 0.7)  # so that they do not all run in the same instant
    instance_id = found.created(f"lag-{number}")
    wait = {"waitFor": "running", "timeoutSeconds": "120"}
    seen = found.api.get(f"/api/instances/{instance_id}", params=wait, timeout=130).json()
    seen_at = time.perf_counter()
    assert seen["waited"] == "reached", seen
    clock = found.sim.get("/_sim/clock").json()
    asked_at = time.perf_counter()
    ran_s = float(clock["now"]) - _began_to_run(found, seen["novitaInstanceId"])
    return ran_s / float(clock["speed"]) - (asked_at - seen_at)


def _began_to_run(found: Site, upstream_id: str) -> float:
    path = f"/gpu-instance/openapi/v1/gpu/instance?instanceId={upstream_id}"
    return float(found.sim.get(path).json()["lastStartedAt"])


def _show(what: str, goal: str, seconds: list[float]) -> None:
    seen = f"median {statistics.median(seconds):.3f} s, worst {max(seconds):.3f} s"
    Line(what, goal, f"{seen} ({len(seconds)} times)").show()


if __name__ == "__main__":
    main()

"""Clients of the earlier service keep working: the programs of `examples/`, unchanged, against a real server.

They post, poll, read how to get in, stop and start by id and by name, and take webhooks by the headers that
they know; beside them a receiver by the official Standard Webhooks library takes the same events.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
import pytest

from tests.support.home import Home, a_name, at_home, part, parts
from tests.support.programs import (
    Program,
    RunningReceiver,
    in_node,
    in_python,
    in_shell,
    receiving_program,
    run,
)
from tests.support.server import ADMIN_KEY

SECRET = "a secret as it was configured for the earlier service"
STANDARD = in_python("python/receive.py")
EARLIER = in_python("python/receive_earlier.py")
EARLIER_IN_NODE = in_node("node/receive.mjs")
PYTHON, NODE, CURL = in_python("python/rent.py"), in_node("node/rent.mjs"), in_shell("shell/rent.sh")
NEEDS_NODE, NEEDS_CURL = pytest.mark.needs("node"), pytest.mark.needs("curl")
LIFE = [
    *("creating", "placed", "starting", "running", "usable", "succeeded"),
    *("stopping", "exited", "succeeded"),
    *("starting", "running", "health_checking", "ready", "usable", "succeeded"),
    *("stopping", "exited", "succeeded"),
    *("starting", "running", "health_checking", "ready", "usable", "succeeded"),
    *("terminating", "terminated"),
]


@dataclass(frozen=True, slots=True)
class Scene:
    """A server, what a client shows it, and a receiver that hears of everything."""

    home: Home
    key: str
    hears_all: RunningReceiver


@pytest.fixture(scope="module", params=["with the key", "without keys"])
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    has_key = request.param == "with the key"
    with (
        receiving_program(STANDARD, SECRET) as hears_all,
        at_home(
            tmp_path_factory.mktemp("ostler"),
            OSTLER_AUTH="on" if has_key else "off",
            WEBHOOK_SECRET=SECRET,
            WEBHOOK_URL=hears_all.url,
        ) as home,
    ):
        yield Scene(home, ADMIN_KEY if has_key else "", hears_all)


@pytest.mark.parametrize(
    ("client", "receiver"),
    [
        pytest.param(PYTHON, EARLIER, id="Python, requests"),
        pytest.param(NODE, EARLIER_IN_NODE, marks=NEEDS_NODE, id="Node, fetch"),
        pytest.param(CURL, EARLIER, marks=NEEDS_CURL, id="curl"),
    ],
)
def test_an_earlier_client_leads_an_instance_through_its_life(
    scene: Scene, client: Program, receiver: Program
) -> None:
    with receiving_program(receiver, SECRET) as hears_its_own:
        lines = run(
            client,
            a_name(),
            OSTLER_URL=scene.home.server.url,
            OSTLER_KEY=scene.key,
            WEBHOOK_URL=hears_its_own.url,
        )
        instance_id = lines[0].removeprefix("created ")
        heard = [
            each.until_it_took("instance.terminated", instance_id)
            for each in (hears_its_own, scene.hears_all)
        ]
    assert [line for line in lines[1:] if not line.startswith(("ssh", "port"))] == [
        "ready, started by id",
        "ready, started by name",
        "terminated",
    ]
    assert_shows_how_to_get_in(lines)
    for names in heard:
        assert [name.partition(".")[2] for name in names][: len(LIFE)] == LIFE
    assert_is_paid_no_more(scene.home, instance_id)


def assert_shows_how_to_get_in(lines: list[str]) -> None:
    """Every reading of the details names a command for SSH and the ports of the template."""
    assert [bool(re.fullmatch(r"ssh ssh -p \d+ root@\S+", each)) for each in lines].count(True) == 2
    ports = [each.split(" ") for each in lines if each.startswith("port ")]
    assert sorted((port, kind) for _, port, kind, _ in ports[:3]) == [
        ("22", "tcp"),
        ("6006", "http"),
        ("8888", "http"),
    ]
    assert all(endpoint for *_, endpoint in ports)


def assert_is_paid_no_more(home: Home, instance_id: str) -> None:
    """The cloud has let go of it."""
    upstream_id = home.looked(instance_id)["novitaInstanceId"]
    ledger = parts(home.cloud.get("/_sim/ledger").json(), "instances")
    assert [each["alive"] for each in ledger if part(each, "id") == upstream_id] == [False]


@pytest.mark.parametrize(
    "receiver",
    [
        pytest.param(STANDARD, id="Standard Webhooks"),
        pytest.param(EARLIER, id="earlier"),
        pytest.param(EARLIER_IN_NODE, marks=NEEDS_NODE, id="earlier, in Node"),
    ],
)
def test_a_receiver_takes_nothing_that_is_not_signed_with_its_secret(receiver: Program) -> None:
    with receiving_program(receiver, SECRET) as listening:
        bare = httpx2.post(listening.url, json={"event": "instance.ready"}, trust_env=False)
        forged = httpx2.post(
            listening.url,
            json={"event": "instance.ready"},
            headers={
                "webhook-id": "msg_1",
                "webhook-timestamp": "1785780950",
                "webhook-signature": "v1,AAAA",
                "X-Webhook-Signature": f"sha256={'0' * 64}",
                "X-Webhook-Timestamp": "2026-08-03T18:15:50.000Z",
            },
            trust_env=False,
        )
    assert {bare.status_code, forged.status_code} <= {400, 401}
    assert listening.taken == []

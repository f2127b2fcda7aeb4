"""Requests that no careful client sends: numbers that are none, and numbers without end.

Whatever it is, the simulator answers with the envelope of the cloud.
"""

import re

import httpx2
import pytest

from ostler.simulator.face import Call, Route
from ostler.simulator.faces.table import ROUTES
from ostler.simulator.routing import RouteTable
from ostler.simulator.server import create_app
from ostler.simulator.world import World
from tests.support.simulator import SimulatedCloud, a_simulated_instance

NUMBERS = (
    "pageSize", "pageNum", "pageNo", "page", "limit", "startTime", "endTime", "interval", "gpuNum",
    "month", "months", "expandRootDisk", "storageSize",
)  # fmt: skip
LONG = "9" * 4_301  # more digits than Python reads
ODD = ("--5", "-", "²", "٣", "1e5", LONG, "-1", "nan", "\0")
KEY = {"Authorization": "Bearer sk_odd"}


async def ask(simulated: SimulatedCloud, route: Route, value: str) -> httpx2.Response:
    """Call a route with an odd value wherever a number is wanted."""
    (instance_id,) = simulated.world.instances
    app = httpx2.ASGITransport(app=create_app(simulated.cloud), raise_app_exceptions=False)
    odd = dict.fromkeys(NUMBERS, value) | {"instanceId": instance_id}
    path = re.sub(r"\{id\}", instance_id, route.path)
    async with httpx2.AsyncClient(transport=app, base_url="http://cloud.test", headers=KEY) as client:
        if route.method == "GET":
            return await client.get(path, params=odd)
        return await client.request(route.method, path, json=odd)


@pytest.mark.parametrize("value", ODD, ids=lambda value: ascii(value[:6]))
async def test_an_odd_number_is_refused_or_ignored_everywhere(value: str) -> None:
    simulated = SimulatedCloud()
    a_simulated_instance(simulated.world)

    broken = {
        f"{route.method} {route.path}": answer.text
        for route in ROUTES
        if route.method == "GET" or "delete" not in route.path.lower()
        if (answer := await ask(simulated, route, value)).status_code >= 500
    }

    assert broken == {}


async def test_a_number_that_is_none_is_named_with_its_value() -> None:
    simulated = SimulatedCloud()
    a_simulated_instance(simulated.world)
    route = next(route for route in ROUTES if route.path.endswith("/gpu/instances"))

    refused = await ask(simulated, route, "--5")

    assert refused.json() == {
        "code": 400,
        "reason": "VALIDATOR_PARAM",
        "message": "invalid pageSize: value must be an integer, not '--5'",
        "metadata": {},
    }


async def test_even_an_error_of_the_simulator_itself_comes_in_the_envelope() -> None:
    def break_down(_: World, __: Call) -> object:
        raise LookupError

    simulated = SimulatedCloud()
    a_simulated_instance(simulated.world)
    route = Route("GET", "/gpu-instance/openapi/v1/broken", break_down)
    simulated.cloud.table = RouteTable([route])

    answer = await ask(simulated, route, "1")

    assert answer.status_code == 500
    assert answer.json() == {"code": 500, "reason": "UNKNOWN", "message": "unknown error", "metadata": {}}

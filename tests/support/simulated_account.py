"""The simulator in process, for tests of what an account owns: its routes called directly, and builders.

A call answers `(status, body)` as over HTTP: a refusal becomes the cloud's error envelope.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ostler.simulator import creation
from ostler.simulator.accounting import open_account
from ostler.simulator.durations import Durations
from ostler.simulator.face import Call
from ostler.simulator.faces.table import ROUTES
from ostler.simulator.genesis import new_world
from ostler.simulator.instance import Instance, Mode
from ostler.simulator.keys import DEFAULT_ACCOUNT
from ostler.simulator.lifecycle import move
from ostler.simulator.order import Order
from ostler.simulator.refusal import Refusal
from ostler.simulator.routing import RouteTable
from ostler.simulator.status import Status
from ostler.simulator.world import World

NOW = 1_785_780_950.0
ACCOUNT = DEFAULT_ACCOUNT
V1 = "/gpu-instance/openapi/v1"
V2 = "/gpus/v2"
BASIC = "/openapi/v1"

TABLE = RouteTable(ROUTES)


class NoRouteError(LookupError):
    """No route of the simulator takes this call."""

    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"{method} {path}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    body: object

    @property
    def reason(self) -> object:
        """The word of a refusal."""
        return self["reason"]

    def __getitem__(self, key: str) -> object:
        assert isinstance(self.body, Mapping), self.body
        return self.body[key]

    def text(self, key: str) -> str:
        """Return a member that is a string."""
        value = self[key]
        assert isinstance(value, str), value
        return value

    def rows(self, key: str = "data") -> list[dict[str, object]]:
        """Return a member that is a list of objects."""
        value = self[key]
        assert isinstance(value, list), value
        return value


@dataclass(slots=True)
class Cloud:
    """A world and one account's way to call it."""

    world: World = field(default_factory=lambda: new_world(NOW, durations=Durations(spread=0.0)))
    account: str = ACCOUNT

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Answer:
        """Read."""
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Mapping[str, object] | None = None) -> Answer:
        """Write, as v1 does."""
        return self.call("POST", path, body=body)

    def put(self, path: str, body: Mapping[str, object] | None = None) -> Answer:
        """Change, as v2 does."""
        return self.call("PUT", path, body=body)

    def delete(self, path: str, body: Mapping[str, object] | None = None) -> Answer:
        """Delete, as v2 does."""
        return self.call("DELETE", path, body=body)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
    ) -> Answer:
        """Call a route; a key of the query may not be repeated here."""
        values = {key: (value,) for key, value in (query or {}).items()}
        return self.send(method, path, values, body)

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, tuple[str, ...]],
        body: Mapping[str, object] | None = None,
    ) -> Answer:
        """Call a route with a query whose keys may be repeated."""
        match = TABLE.find(method, path)
        if match is None:
            raise NoRouteError(method, path)
        try:
            answer = match.route.handler(self.world, Call(self.account, match.parameters, query, body or {}))
        except Refusal as refusal:
            envelope = {
                "code": refusal.status,
                "reason": refusal.reason,
                "message": refusal.message,
                "metadata": refusal.metadata,
            }
            return Answer(refusal.status, envelope)
        return Answer(200, answer)

    def pass_time(self, seconds: float) -> None:
        """Let the world go on."""
        self.world.advance(self.world.now + seconds)


def an_order(cloud: Cloud) -> Order:
    """Return an order of an official image, which is quick to pull."""
    return Order(
        account=cloud.account,
        product_id="4090.16c62g",
        image_url="novitalabs/ubuntu:22.04",
        name="demo",
        cluster_ids=("us-ca-6",),
    )


def a_running_instance(cloud: Cloud, order: Order | None = None) -> Instance:
    """Create an instance and let time pass until it runs."""
    instance = creation.create(cloud.world, order or an_order(cloud))
    cloud.pass_time(400)
    assert instance.status is Status.RUNNING
    return instance


def put_instance(cloud: Cloud, instance_id: str, status: Status, mode: Mode = Mode.ON_DEMAND) -> Instance:
    """Put an instance of a known id into the world, in any status."""
    instance = Instance(
        id=instance_id,
        account=cloud.account,
        name="demo",
        kind="gpu",
        product_id="4090.16c62g",
        cluster_id="us-ca-6",
        mode=mode,
        gpu_num=1,
        rootfs_gb=60,
        image_url="novitalabs/ubuntu:22.04",
        created_at=cloud.world.now,
        price_per_hour=0 if mode is Mode.MONTHLY else 35_000,
        status=status,
    )
    if mode is Mode.MONTHLY:
        instance.ends_at = cloud.world.now + 30 * 86_400
    open_account(cloud.world, instance)
    creation.admit(cloud.world, instance)
    move(cloud.world, instance, status)
    return instance

"""The *market*: clusters, the machines sold in them, and how many are left on the shelf.

A *shelf* is what is left of one product in one cluster under one billing mode. Running instances take from
it and give back when they stop. Prices are integers of 1/100000 USD per GPU and hour.
"""

from dataclasses import dataclass, field

from ostler.simulator.instance import Mode


@dataclass(slots=True)
class Cluster:
    """A data centre; `name` is "CODE (Place)"."""

    id: str
    name: str
    has_network_storage: bool = True
    has_private_networks: bool = True
    max_cuda_version: str = "12.8"
    cached_images: set[str] = field(default_factory=set)  # pulled before, so that a create is quick


@dataclass(slots=True)
class Product:
    """A kind of machine; for `kind` cpu the sizes are of the whole machine and `price` is per machine."""

    id: str
    name: str
    kind: str  # gpu | cpu
    cpus: int
    memory_gb: int
    price: int
    spot_price: int = 0  # 0: not sold as spot
    monthly_prices: dict[int, int] = field(default_factory=dict)  # months → per GPU for the term
    disk_gb: int = 6144
    min_rootfs_gb: int = 10
    max_rootfs_gb: int = 6144
    gpu_memory_gb: int = 0
    can_buy: bool = True

    def price_under(self, mode: Mode) -> int:
        """Return what a GPU costs for an hour under a mode; the month is spread over its hours."""
        match mode:
            case Mode.SPOT:
                return self.spot_price
            case Mode.ON_DEMAND:
                return self.price
            case Mode.MONTHLY:
                return 0  # paid in advance

    def is_sold_under(self, mode: Mode) -> bool:
        """Tell whether the product can be bought this way at all."""
        match mode:
            case Mode.SPOT:
                return self.spot_price > 0
            case Mode.ON_DEMAND:
                return self.price > 0
            case Mode.MONTHLY:
                return bool(self.monthly_prices)


@dataclass(slots=True)
class Shelf:
    """What is left of a product in a cluster under a mode, in GPUs (or machines)."""

    product_id: str
    cluster_id: str
    mode: Mode
    free: int
    capacity: int

    @property
    def id(self) -> str:
        """The key of this shelf."""
        return shelf_id(self.product_id, self.cluster_id, self.mode)


def shelf_id(product_id: str, cluster_id: str, mode: Mode) -> str:
    """Return the key of a shelf; a month is sold from the same one as a second, spot from its own."""
    shared = Mode.ON_DEMAND if mode is Mode.MONTHLY else mode
    return f"{product_id}|{cluster_id}|{shared}"

"""What the pretend cloud sells when a world begins: clusters, machines, prices, and how many of each.

Modelled on what the real one sells (in 1/100000 USD), with something sold out here and not sold as spot
there, so that a client's choice among regions and modes can be seen at work.
"""

from ostler.simulator.instance import Mode
from ostler.simulator.market import Cluster, Product, Shelf


def _gpu(name: str, key: str, prices: tuple[int, int], sizes: tuple[int, int, int]) -> Product:
    price, spot_price = prices
    cpus, memory_gb, gpu_memory_gb = sizes
    return Product(
        id=key,
        name=name,
        kind="gpu",
        cpus=cpus,
        memory_gb=memory_gb,
        gpu_memory_gb=gpu_memory_gb,
        price=price,
        spot_price=spot_price,
        monthly_prices={1: price * 648, 3: price * 1_860, 6: price * 3_600, 12: price * 6_900},
    )


def _cpu(key: str, cpus: int, memory_gb: int, price: int) -> Product:
    name = f"CPU {cpus} cores {memory_gb}GB"
    return Product(id=key, name=name, kind="cpu", cpus=cpus, memory_gb=memory_gb, price=price)


def default_clusters() -> tuple[Cluster, ...]:
    """Return the data centres."""
    return (
        Cluster("us-ca-6", "US-CA-06 (California)"),
        Cluster("cn-hongkong-1", "CN-HK-01 (Hong Kong)"),
        Cluster("as-sgp-2", "AS-SGP-02 (Singapore)"),
        Cluster("as-in-1", "AS-IN-01 (India)", max_cuda_version="12.4"),
        Cluster("eu-gb-1", "EU-GB-01 (United Kingdom)"),
        Cluster("oc-au-1", "OC-AU-01 (Australia)", has_private_networks=False),
        Cluster("us-ca-3", "US-CA-03 (California)", has_network_storage=False, has_private_networks=False),
    )


def default_products() -> tuple[Product, ...]:
    """Return the machines, dear ones last."""
    return (
        _gpu("RTX 3090 24GB", "3090.16c92g", (21_000, 10_500), (16, 92, 24)),
        _gpu("RTX 4090 24GB", "4090.16c62g", (35_000, 17_500), (16, 62, 24)),
        _gpu("RTX 4090 24GB", "4090.16c96g.v2", (39_000, 19_500), (16, 96, 24)),
        _gpu("RTX 4090 24GB", "4090.16c62g.os", (35_000, 17_500), (16, 62, 24)),
        _gpu("L40S 48GB", "L40S.22c125g", (55_000, 27_500), (22, 125, 48)),
        _gpu("RTX 5090 32GB", "5090.16c92g", (63_000, 31_500), (16, 92, 32)),
        _gpu("RTX 6000 Ada 48GB", "6000Ada.16c120g", (70_000, 35_000), (16, 120, 48)),
        _gpu("A100 SXM 80GB", "A100-80GB.14c240g", (160_000, 80_000), (14, 240, 80)),
        _gpu("H100 SXM 80GB", "H100-80GB.20c240g", (256_000, 0), (20, 240, 80)),
        _gpu("H200 SXM 141GB", "H200-141GB.24c256g", (349_000, 0), (24, 256, 141)),
        _cpu("cpu.4c8g", 4, 8, 4_000),
        _cpu("cpu.8c16g", 8, 16, 8_000),
        _cpu("cpu.16c32g", 16, 32, 16_000),
    )


# product → cluster → (GPUs by the second or month, GPUs as spot); a 0 is sold out
_STOCK: dict[str, dict[str, tuple[int, int]]] = {
    "3090.16c92g": {"as-sgp-2": (120, 0), "cn-hongkong-1": (0, 0), "us-ca-3": (40, 24)},
    "4090.16c62g": {"us-ca-6": (400, 160), "as-sgp-2": (240, 96), "eu-gb-1": (80, 0)},
    "4090.16c96g.v2": {"cn-hongkong-1": (160, 64), "as-in-1": (0, 32)},
    "4090.16c62g.os": {"us-ca-6": (64, 64), "oc-au-1": (48, 16)},
    "L40S.22c125g": {"us-ca-6": (64, 32), "as-in-1": (32, 16)},
    "5090.16c92g": {"cn-hongkong-1": (0, 0), "as-sgp-2": (96, 48), "us-ca-3": (16, 8)},
    "6000Ada.16c120g": {"eu-gb-1": (0, 0), "us-ca-3": (0, 0)},
    "A100-80GB.14c240g": {"us-ca-6": (64, 16), "as-sgp-2": (8, 0), "cn-hongkong-1": (0, 8)},
    "H100-80GB.20c240g": {"us-ca-6": (32, 0), "eu-gb-1": (8, 0)},
    "H200-141GB.24c256g": {"us-ca-6": (8, 0)},
    "cpu.4c8g": {"us-ca-6": (500, 0), "as-sgp-2": (500, 0), "cn-hongkong-1": (500, 0)},
    "cpu.8c16g": {"us-ca-6": (500, 0), "as-sgp-2": (500, 0)},
    "cpu.16c32g": {"us-ca-6": (500, 0)},
}


def default_shelves() -> tuple[Shelf, ...]:
    """Return what is left of everything, everywhere."""
    return tuple(
        Shelf(product_id, cluster_id, mode, free=count, capacity=count)
        for product_id, clusters in _STOCK.items()
        for cluster_id, counts in clusters.items()
        for mode, count in zip((Mode.ON_DEMAND, Mode.SPOT), counts, strict=True)
    )

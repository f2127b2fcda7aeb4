"""What the cloud sells and where: regions, products, offers, templates, in our own words.

A *region* is one of the cloud's clusters. A *product* is a kind of machine; an *offer* is a product in a
region under a billing mode at a price. A *template* says which image to run and what it exposes. Choosing
among offers is `offers.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ostler.domain.money import Usd


class BillingMode(StrEnum):
    """How an instance is paid for."""

    SPOT = "spot"  # cheapest; the cloud may take the node back with an hour's notice
    ON_DEMAND = "onDemand"  # by the second, until it is stopped
    MONTHLY = "monthly"  # whole months in advance; cannot be deleted early


class Inventory(StrEnum):
    """How much of a product the cloud says is left."""

    NONE = "none"
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    UNKNOWN = "unknown"  # the cloud did not say


class Channel(StrEnum):
    """Who published a template."""

    PRIVATE = "private"  # this account
    OFFICIAL = "official"  # the cloud
    COMMUNITY = "community"  # other accounts


class Protocol(StrEnum):
    """How a port of an instance is reached from outside."""

    HTTP = "http"  # through the cloud's HTTPS gateway
    TCP = "tcp"  # through the cloud's proxy, at a random port


@dataclass(frozen=True, slots=True)
class Region:
    """One of the cloud's clusters: `us-ca-6`, code `US-CA-06`, name `US-CA-06 (California)`."""

    id: str
    code: str
    name: str
    gpu_types: tuple[str, ...] = ()
    has_network_storage: bool = False
    has_private_networks: bool = False

    def is_called(self, word: str) -> bool:
        """Tell whether a person's word means this region: its id, code or whole name, in any case."""
        return word.casefold() in {self.id.casefold(), self.code.casefold(), self.name.casefold()}


@dataclass(frozen=True, slots=True)
class Product:
    """A kind of machine as sold in one region under one billing mode; prices are per GPU and hour."""

    id: str
    name: str
    region_id: str
    billing_mode: BillingMode
    price_per_gpu_hour: Usd | None  # None: not sold under this mode
    monthly_prices: Mapping[int, Usd] = field(default_factory=dict)  # months → per GPU for the term
    is_deployable: bool = False
    inventory: Inventory = Inventory.UNKNOWN
    cpus_per_gpu: int = 0
    memory_gb_per_gpu: int = 0
    min_rootfs_gb: int = 0
    max_rootfs_gb: int = 0  # 0: the cloud did not say


@dataclass(frozen=True, slots=True)
class CpuProduct:
    """A machine without a GPU as sold in one region."""

    id: str
    name: str
    region_id: str
    cpus: int
    memory_gb: int
    price_per_hour: Usd | None
    is_deployable: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """A product in a region under a billing mode, for a number of GPUs, at a price."""

    product: Product
    region: Region
    gpus: int
    price_per_gpu_hour: Usd
    prepaid: Usd | None = None  # for all GPUs and the whole term; None: it is paid as it goes on

    @property
    def price_per_hour(self) -> Usd:
        """For all GPUs together."""
        return self.price_per_gpu_hour * self.gpus


@dataclass(frozen=True, slots=True)
class RegistryAuth:
    """Credentials of an image registry that the account keeps in the cloud; `name` is the registry."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Port:
    """A port that an instance exposes."""

    number: int
    protocol: Protocol


@dataclass(frozen=True, slots=True)
class Template:
    """What to run: an image with its ports, environment and registry credentials by id."""

    id: str
    name: str
    image: str
    channel: str
    rootfs_gb: int
    ports: tuple[Port, ...] = ()
    envs: Mapping[str, str] = field(default_factory=dict, repr=False)
    start_command: str = ""
    entrypoint: str = ""
    registry_auth_id: str = ""
    min_cuda_version: str = ""


def region_called(regions: Iterable[Region], word: str) -> Region | None:
    """Return the region that a person's word means, by the cloud's own list."""
    return next((region for region in regions if region.is_called(word)), None)


def products_called(products: Sequence[Product], word: str) -> Sequence[Product]:
    """Return the products of exactly this name; when there is none, those whose name contains it."""
    exact = [product for product in products if product.name == word]
    if exact:
        return exact
    part = word.casefold()
    return [product for product in products if part in product.name.casefold()]


def cheapest_offers(products: Iterable[Product], regions: Iterable[Region], gpus: int) -> Sequence[Offer]:
    """Return what can be had at a price, cheapest first; ties stand in a steady order."""
    by_id = {region.id: region for region in regions}
    offers = [
        Offer(product, by_id[product.region_id], gpus, product.price_per_gpu_hour)
        for product in products
        if product.is_deployable and product.price_per_gpu_hour is not None and product.region_id in by_id
    ]
    return sorted(offers, key=lambda offer: (offer.price_per_hour, offer.region.id, offer.product.id))

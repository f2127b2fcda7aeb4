"""A *network storage*: a disk of its own, in one cluster, which instances mount and which outlives them.

It only grows. The cloud's documents say that creating one answers with its bare id; live it answers with the
object. Which of the two it is here can be switched.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from ostler.simulator.account.fields import Span, wrong_length, wrong_value
from ostler.simulator.refusal import Refusal, bad_parameter

SMALLEST_GB = 10
LARGEST_GB = 65_536  # the cloud has a limit, which it names only when it is passed
NAME_LENGTH: Span = (1, 255)
PRICE_PER_GB_DAY = 200  # in 1/100000 USD, as the list shows it


class CreateAnswer(StrEnum):
    """What creating a storage answers with."""

    OBJECT = "object"  # as recorded live
    STRING = "string"  # as documented


@dataclass(frozen=True, slots=True)
class NetworkStorage:
    """A disk in a cluster."""

    id: str
    account: str
    name: str
    size_gb: int
    cluster_id: str
    created_at: int


def checked(storage: NetworkStorage) -> NetworkStorage:
    """Return the storage as it is, or refuse what breaks a limit."""
    if not NAME_LENGTH[0] <= len(storage.name) <= NAME_LENGTH[1]:
        raise wrong_length(field="storageName", span=NAME_LENGTH)
    if storage.size_gb > LARGEST_GB:
        raise Refusal(400, "NETWORK_STORAGE_TOO_LARGE", "network storage too large", {"0": str(LARGEST_GB)})
    if storage.size_gb < SMALLEST_GB:
        raise wrong_value(field="storageSize", span=(SMALLEST_GB, LARGEST_GB), seen=storage.size_gb)
    return storage


def changed(storage: NetworkStorage, *, name: str, size_gb: int) -> NetworkStorage:
    """Return the storage under another name or larger; smaller is refused."""
    if size_gb < storage.size_gb:
        raise bad_parameter(message=f"invalid storageSize: {size_gb} is less than {storage.size_gb}")
    return checked(replace(storage, name=name, size_gb=size_gb))


def check_unmounted(storage: NetworkStorage, mounted_ids: frozenset[str]) -> None:
    """Refuse to delete a disk that an instance mounts."""
    if storage.id in mounted_ids:
        raise Refusal(400, "NETWORK_STORAGE_IN_USE", "network storage in use")


def unsupported(cluster_name: str) -> Refusal:
    """Return the refusal of a cluster that has no network storage."""
    return Refusal(
        400,
        "CUR_CLUSTER_NETWORK_STORAGE_NOT_SUPPORT",
        "the cluster does not support network storage",
        {"0": cluster_name},
    )

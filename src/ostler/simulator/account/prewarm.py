"""A *prewarm task*: fetching an image into a cluster ahead of time, so that instances there start quickly.

It waits, runs as long as the image is large, and has then succeeded. An account may hold a limited number.
"""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

from ostler.simulator.account.fields import Span
from ostler.simulator.refusal import Refusal

IMAGE_LENGTH: Span = (1, 500)
LONG_IMAGE_LENGTH: Span = (1, 4095)  # v2
NOTE_LENGTH: Span = (0, 255)
MOST_TASKS = 20
LARGEST_IMAGE_GB = 100
SECONDS_TO_RUN = 5
BYTES_PER_SECOND = 100_000_000
SMALLEST_IMAGE = 50_000_000


class PrewarmState(StrEnum):
    """Where a task stands."""

    PENDING = "Pending"  # asked for; leaves after a few seconds
    RUNNING = "Running"  # fetching
    SUCCEEDED = "Succeeded"  # the cluster has the image


@dataclass(frozen=True, slots=True)
class PrewarmTask:
    """One image for one cluster, perhaps for some products only."""

    id: str
    account: str
    image: str
    cluster_id: str
    registry_auth_id: str
    product_ids: tuple[str, ...]
    note: str
    created_at: int
    is_fetched: bool = False  # whether the cluster was given the image

    @property
    def image_bytes(self) -> int:
        """The size of the image: not known here, so made up from its name, always the same."""
        digest = blake2b(self.image.encode(), digest_size=4).digest()
        return SMALLEST_IMAGE + int.from_bytes(digest) % 10_000_000_000

    @property
    def completed_at(self) -> int:
        """When the image is there."""
        return self.created_at + SECONDS_TO_RUN + self.image_bytes // BYTES_PER_SECOND

    def state_at(self, now: int) -> PrewarmState:
        """Return the state at an instant."""
        if now >= self.completed_at:
            return PrewarmState.SUCCEEDED
        return PrewarmState.RUNNING if now >= self.created_at + SECONDS_TO_RUN else PrewarmState.PENDING


def check_quota(held: int) -> None:
    """Refuse a task beyond the account's limit."""
    if held >= MOST_TASKS:
        raise Refusal(
            400, "IMAGE_PREWARM_NUM_LIMIT", "image prewarm number limit reached", {"0": str(MOST_TASKS)}
        )

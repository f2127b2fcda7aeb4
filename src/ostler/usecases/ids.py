"""Where new ids come from: an instant and a source of randomness, both given, so that a run can be
repeated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ostler.domain.marks import INSTANCE_ID_BYTES, new_instance_id

Entropy = Callable[[int], bytes]  # `secrets.token_bytes`, but in tests


@dataclass(frozen=True, slots=True)
class Ids:
    """Makes ids that sort by the instant they were made in."""

    entropy: Entropy

    def new(self, at: datetime) -> str:
        """Return the id of a new instance or operation."""
        return new_instance_id(at, self.entropy(INSTANCE_ID_BYTES))

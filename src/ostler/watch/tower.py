"""What all parts of the watcher work with, made once by the assembly.

Nothing here knows what is being watched for.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from pydantic import SecretStr

from ostler.clock import Clock
from ostler.cloud.provider import Cloud
from ostler.store.database import Database
from ostler.usecases.observe import Observation
from ostler.usecases.orphans import Adoption
from ostler.usecases.record import Occasion, Recorder
from ostler.usecases.removal import Removal
from ostler.usecases.verbs import Verbs

ACTOR = "watcher"


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """The watcher's figures, and who we are."""

    install_id: str
    key_digest: str
    slow: timedelta = timedelta(seconds=30)  # INSTANCE_POLL_INTERVAL
    fast: timedelta = timedelta(seconds=3)  # OSTLER_FAST_POLL_SECONDS
    settle: timedelta = timedelta(seconds=30)  # OSTLER_CREATE_SETTLE_SECONDS


@dataclass(frozen=True, slots=True)
class Tower:
    """The tools of a watcher. Its cloud is not the guarded one: looking is always allowed."""

    database: Database
    cloud: Cloud
    recorder: Recorder
    observation: Observation
    adoption: Adoption
    removal: Removal
    verbs: Verbs
    clock: Clock
    config: WatchConfig

    def occasion(self) -> Occasion:
        """Return now, in the watcher's name."""
        return Occasion(self.clock.now(), ACTOR)


def key_digest(api_key: SecretStr) -> str:
    """Return what tells one API key from another without telling the key."""
    return hashlib.sha256(api_key.get_secret_value().encode()).hexdigest()

"""The way in without a server: a gate with its book of keys on a database in memory."""

from dataclasses import dataclass
from random import Random

from ostler.api.audited import Journal, Manner
from ostler.api.doors import Gate
from ostler.clock import Clock
from ostler.store.inline import InlineDatabase, InlineStorage
from ostler.telemetry.metrics import Metrics
from ostler.usecases.audit import AuditLog
from ostler.usecases.ids import Ids
from ostler.usecases.key_book import KeyBook
from ostler.usecases.keys import Keys
from ostler.usecases.signing_in import Sessions, SessionSeal

KEY = "the-administrators-key"


@dataclass(frozen=True, slots=True)
class Porch:
    """A gate and what stands behind it."""

    storage: InlineStorage
    book: KeyBook
    sessions: Sessions
    keys: Keys
    gate: Gate
    journal: Journal


def a_porch(
    clock: Clock,
    storage: InlineStorage | None = None,
    *,
    admin_key: str = KEY,
    asks_for_key: bool = True,
    public_url: str | None = None,
) -> Porch:
    """Return the way into a pretended process on a storage of its own, or a given one."""
    storage = storage or InlineStorage(clock)
    database = InlineDatabase(storage)
    randomness = Random(len(storage.databases)).randbytes  # noqa: S311 -- a run that can be repeated
    book = KeyBook(database, clock, admin_key)
    sessions = Sessions(database, book, clock, SessionSeal(admin_key, randomness))
    keys = Keys(database, book, clock, Ids(randomness))
    gate = Gate(book, sessions, asks_for_key=asks_for_key, public_url=public_url)
    manner = Manner(clock, Metrics("test"), redact=str)
    return Porch(storage, book, sessions, keys, gate, Journal(AuditLog(database), manner))

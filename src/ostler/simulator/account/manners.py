"""*Manners*: points where the cloud's documents and its live answers differ, to be switched one by one.

A client that copes with both settings of each will cope with the real cloud, whichever is true on the day.
"""

from dataclasses import dataclass

from ostler.simulator.account.network_storage import CreateAnswer


@dataclass(frozen=True, slots=True)
class Manners:
    """The behaviour chosen at each such point; the defaults are what was seen live."""

    storage_create: CreateAnswer = CreateAnswer.OBJECT

"""What to do with an upstream that carries the mark of an instance which has, or had, another one.

A *duplicate* costs money twice, but removing the wrong one destroys work: it is removed only when the row's
own upstream was proven alive by a GET, no attempt is open, and settling is over.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Sibling:
    """An upstream that carries the mark of one attempt of an instance."""

    upstream_id: str
    attempt: int
    created_at: datetime | None = None  # as the cloud says; compared among siblings only


@dataclass(frozen=True, slots=True)
class Family:
    """All upstreams of one instance, and what is known of them."""

    own: str | None  # the row's
    others: Sequence[Sibling]
    known_attempts: Set[int]  # numbers of attempts that the store has
    proven_alive: Set[str] = frozenset()  # by a GET, each
    is_attempt_open: bool = False
    is_settled: bool = False
    is_wanted: bool = True  # False: the row is terminated, or being so


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which upstream the row keeps, and which are removed now. Nothing to remove: look again later."""

    keep: str | None
    remove: tuple[str, ...] = ()


def judge_family(family: Family) -> Verdict:
    """Say which upstream of an instance stays."""
    others = tuple(sibling.upstream_id for sibling in family.others if sibling.upstream_id != family.own)
    if family.is_attempt_open:
        return Verdict(family.own)
    if not family.is_wanted:
        return Verdict(family.own, others)
    if not family.is_settled:
        return Verdict(family.own)
    if family.own in family.proven_alive:
        return Verdict(family.own, others)
    return _without_own(family)


def _without_own(family: Family) -> Verdict:
    matching = [sibling for sibling in family.others if sibling.attempt in family.known_attempts]
    alive = [sibling for sibling in matching if sibling.upstream_id in family.proven_alive]
    heir = min(alive or matching, key=_age, default=None)
    if heir is None:
        return Verdict(family.own)
    rest = tuple(
        each.upstream_id for each in family.others if each.upstream_id not in {heir.upstream_id, family.own}
    )
    return Verdict(heir.upstream_id, rest if heir.upstream_id in family.proven_alive else ())


def _age(sibling: Sibling) -> tuple[bool, float, int]:
    created = sibling.created_at
    return (created is None, 0.0 if created is None else created.timestamp(), sibling.attempt)

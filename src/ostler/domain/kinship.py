"""Whose an upstream is. An *orphan* carries our mark and has no row; a *stranger* carries no mark.

A *duplicate* belongs to an instance that already has another upstream. Nothing is removed here: what may
be done with an upstream that matches an attempt is decided by `duplicates.py`.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum

from ostler.domain.lifecycle import State
from ostler.domain.marks import Mark, parse_mark


class Kinship(StrEnum):
    """What an upstream is to us."""

    OURS = "ours"  # a row's own upstream, or the one that a recreation is about to replace
    AWAITED = "awaited"  # its row has none: the attempt's owner assigns it
    DUPLICATE = "duplicate"  # its row has another
    LATE = "late"  # its row is terminated, and it is not the one that was: to be deleted
    ORPHAN = "orphan"  # our mark without a row: to be adopted
    OTHER_INSTALLATION = "other installation"  # never touched, reported
    STRANGER = "stranger"  # never touched, listed


@dataclass(frozen=True, slots=True)
class RowIdentity:
    """What of a row tells whose an upstream is."""

    instance_id: str
    state: State
    upstream_id: str | None = None
    predecessor_id: str | None = None


@dataclass(frozen=True, slots=True)
class Household:
    """All that counts as ours: the rows by instance id, and the installations taken over."""

    install_id: str
    rows: Mapping[str, RowIdentity]
    owners: Mapping[str, str] = field(default_factory=dict)  # upstream id → instance id
    adopted_installs: Set[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Relation:
    """What an upstream is to us, and the row and mark by which we know."""

    kinship: Kinship
    instance_id: str | None = None
    mark: Mark | None = None


def household(
    install_id: str, rows: Mapping[str, RowIdentity], adopted_installs: Set[str] = frozenset()
) -> Household:
    """Return what counts as ours, indexed by upstream."""
    owners = {
        upstream: row.instance_id
        for row in rows.values()
        for upstream in (row.upstream_id, row.predecessor_id)
        if upstream is not None
    }
    return Household(install_id, rows, owners, adopted_installs)


def relation(upstream_id: str, upstream_name: str, ours: Household) -> Relation:
    """Say whose an upstream is."""
    mark = parse_mark(upstream_name)
    owner = ours.owners.get(upstream_id)
    if owner is not None:
        owning = ours.rows[owner]
        is_left_over = owning.state is State.TERMINATED and owning.upstream_id != upstream_id
        return Relation(Kinship.LATE if is_left_over else Kinship.OURS, owner, mark)
    if mark is None:
        return Relation(Kinship.STRANGER)
    if mark.install_id != ours.install_id and mark.install_id not in ours.adopted_installs:
        return Relation(Kinship.OTHER_INSTALLATION, None, mark)
    row = ours.rows.get(mark.instance_id)
    if row is None:
        return Relation(Kinship.ORPHAN, None, mark)
    return Relation(_to_row(row), row.instance_id, mark)


def _to_row(row: RowIdentity) -> Kinship:
    if row.state is State.TERMINATED:
        return Kinship.LATE
    return Kinship.AWAITED if row.upstream_id is None else Kinship.DUPLICATE

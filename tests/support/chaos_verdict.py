"""What must be so after chaos: Ostler's rows compared with the cloud's ledger, as values.

An *orphan* is billed and no living row has it; a *duplicate* shares its instance with another that is
billed; *lost* is an accepted request without a row, or a row without the upstream that it speaks of. Pure:
the runs in process and those with real processes bring what they saw, and are judged alike.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from ostler.domain.lifecycle import State
from ostler.domain.marks import parse_mark
from ostler.domain.phases import Wanted

_AT_REST = frozenset({State.RUNNING, State.READY, State.EXITED, State.FAILED, State.TERMINATED})
_WITH_UPSTREAM = frozenset({State.RUNNING, State.READY, State.EXITED})
_WORD_OF = {State.RUNNING: "running", State.READY: "running", State.EXITED: "exited"}
# A failure says what became of a wish; a delete may come to nothing only by being done.
_MEETS: Mapping[Wanted, frozenset[State]] = {
    Wanted.RUNNING: _AT_REST - {State.EXITED, State.TERMINATED},
    Wanted.STOPPED: frozenset({State.EXITED, State.FAILED, State.TERMINATED}),
    Wanted.TERMINATED: frozenset({State.TERMINATED}),
}


@dataclass(frozen=True, slots=True)
class Ours:
    """A row, as far as it is compared."""

    id: str
    state: State
    upstream_id: str | None = None
    predecessor_id: str | None = None
    open_operations: tuple[str, ...] = ()
    has_open_attempt: bool = False
    has_told_failure: bool = False  # its last operation ended as failed


@dataclass(frozen=True, slots=True)
class Theirs:
    """A line of the cloud's ledger."""

    id: str
    name: str
    word: str
    is_alive: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """All that is not as it must be; empty: the promises were kept."""

    orphans: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    unended: tuple[str, ...] = ()
    broken_wishes: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether every promise was kept."""
        return not any(getattr(self, each.name) for each in fields(self))

    def __str__(self) -> str:
        """Count each kind, and name what was found."""
        counts = ", ".join(f"{len(getattr(self, f.name))} {f.name.replace('_', ' ')}" for f in fields(self))
        named = [f"  {f.name}: {each}" for f in fields(self) for each in getattr(self, f.name)]
        return "\n".join([counts, *named])


def compare(
    accepted: Mapping[str, Wanted | None], ours: Sequence[Ours], theirs: Sequence[Theirs]
) -> Findings:
    """Compare what was accepted (with the last wish, where it is certain), the rows and the ledger."""
    alive = [each for each in theirs if each.is_alive]
    return Findings(
        orphans=tuple(_orphans(ours, alive)),
        duplicates=tuple(_duplicates(alive)),
        lost=tuple(_lost(accepted, ours, {each.id for each in alive})),
        unended=tuple(_unended(ours)),
        broken_wishes=tuple(_broken_wishes(accepted, ours)),
        contradictions=tuple(_contradictions(ours, {each.id: each.word for each in alive})),
    )


def _orphans(ours: Sequence[Ours], alive: Iterable[Theirs]) -> Iterable[str]:
    living = [row for row in ours if row.state is not State.TERMINATED]
    owned = {upstream for row in living for upstream in (row.upstream_id, row.predecessor_id)}
    return (f"{each.id} {each.name} ({each.word})" for each in alive if each.id not in owned)


def _duplicates(alive: Iterable[Theirs]) -> Iterable[str]:
    families: defaultdict[str, list[str]] = defaultdict(list)
    for each in alive:
        mark = parse_mark(each.name)
        if mark is not None:
            families[mark.instance_id].append(each.id)
    return (f"{instance_id}: {', '.join(ids)}" for instance_id, ids in families.items() if len(ids) > 1)


def _lost(accepted: Iterable[str], ours: Sequence[Ours], alive: set[str]) -> Iterable[str]:
    rows = {row.id for row in ours}
    yield from (f"{each}: accepted, and no row" for each in accepted if each not in rows)
    for row in ours:
        if row.state in _WITH_UPSTREAM and row.upstream_id not in alive:
            yield f"{row.id}: {row.state}, and {row.upstream_id} is not at the cloud"


def _unended(ours: Iterable[Ours]) -> Iterable[str]:
    for row in ours:
        if row.state not in _AT_REST:
            yield f"{row.id}: still {row.state}"
        yield from (f"{row.id}: {operation} is open" for operation in row.open_operations)
        if row.has_open_attempt:
            yield f"{row.id}: an attempt is open"


def _broken_wishes(accepted: Mapping[str, Wanted | None], ours: Iterable[Ours]) -> Iterable[str]:
    for row in ours:
        wish = accepted.get(row.id)
        # a start or migration whose time an outage outlasts ends as failed, and leaves the instance stopped
        is_told = row.has_told_failure and row.state is State.EXITED
        if wish is not None and row.state not in _MEETS[wish] and not is_told:
            yield f"{row.id}: {wish} was accepted last, and it is {row.state}"


def _contradictions(ours: Iterable[Ours], words: Mapping[str, str]) -> Iterable[str]:
    for row in ours:
        word = words.get(row.upstream_id or "")
        expected = _WORD_OF.get(row.state)
        if word is not None and expected is not None and word != expected:
            yield f"{row.id}: {row.state} here, {word} at the cloud"

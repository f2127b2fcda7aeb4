"""The state diagram and the table of events, drawn from the arrows for ARCHITECTURE.md and the docs.

Neither is ever written by hand: a test compares what stands in the documents with what is drawn here.
"""

from collections.abc import Iterator
from itertools import groupby

from ostler.domain.lifecycle import State, Transition, is_billable, transitions


def state_diagram() -> str:
    """Return the life of an instance as a mermaid diagram; arrows between two states share a line."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.CREATING}"]
    lines += [f"    {source} --> {target}: {words}" for source, target, words in _joined()]
    lines += ["    classDef billed stroke-width:3px"]
    lines += [f"    class {','.join(state for state in State if is_billable(state))} billed"]
    return "\n".join(lines) + "\n"


def event_table() -> str:
    """Return which transition is told under which names, as a markdown table."""
    lines = ["| from | by | to | events |", "|---|---|---|---|"]
    lines += [f"| `{a.source}` | {a.event} | `{a.target}` | {_names(a)} |" for a in transitions()]
    return "\n".join(lines) + "\n"


def _joined() -> Iterator[tuple[State, State, str]]:
    for (source, target), arrows in groupby(
        sorted(transitions(), key=_ends), key=lambda arrow: (arrow.source, arrow.target)
    ):
        yield source, target, " · ".join(arrow.event for arrow in arrows)


def _ends(arrow: Transition) -> tuple[int, int]:
    order = list(State)
    return order.index(arrow.source), order.index(arrow.target)


def _names(arrow: Transition) -> str:
    names = [f"`{name}`" for name in arrow.emits] + [f"`{name}` once per start" for name in arrow.may_emit]
    return ", ".join([*names, "an alarm"] if arrow.is_alarm else names)

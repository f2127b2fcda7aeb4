"""The report of chaos: what its seeds did and what was found, summed up for each ground at the end.

`Figures` are one seed's share; `note` leaves them with its test, from where they reach the terminal even out
of another process. `seeds_asked` reads how many seeds are wanted. This module is a pytest plugin, loaded by
tests/conftest.py.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import pytest

from tests.support.chaos_verdict import Findings

CHAOS = "chaos"
_SPAN = re.compile(r"(?:(\d+)-)?(\d+)")


@dataclass(frozen=True, slots=True)
class Figures:
    """What one seed did and how much of each kind was found."""

    ground: str
    seed: int
    requests: int
    made: int  # upstreams, by the cloud
    kills: int
    leases_lost: int
    faults: int
    outages: int
    recovery_s: float  # the slowest
    found: Mapping[str, int]


def counted(findings: Findings, errors: Sequence[str]) -> Mapping[str, int]:
    """Return how much of each kind was found, what was logged or answered wrongly among it."""
    kinds = {name.replace("_", " "): len(each) for name, each in asdict(findings).items()}
    return kinds | {"errors": len(errors)}


def note(item: pytest.Item, figures: Figures) -> None:
    """Leave a seed's figures with its test."""
    item.user_properties.append((CHAOS, asdict(figures)))


def seeds_asked(variable: str, default: int) -> Sequence[int]:
    """Return the seeds that a variable asks for: `100` for the first hundred, `17-20` for some of them."""
    said = os.environ.get(variable) or str(default)  # noqa: TID251 -- a switch of the tests
    span = _SPAN.fullmatch(said)
    if span is None:
        message = (
            f"{variable} is {said!r}: a number of seeds (100), or the first and the last of some (17-20)"
        )
        raise pytest.UsageError(message)
    return range(int(span[1] or 1), int(span[2]) + 1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the report, if any seed was played."""
    figures = [
        Figures(**noted)
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        if report.when == "call"
        for name, noted in report.user_properties
        if name == CHAOS and isinstance(noted, dict)
    ]
    if figures:
        terminalreporter.section("chaos")
    for ground in sorted({each.ground for each in figures}):
        for line in summed_up(ground, [each for each in figures if each.ground == ground]):
            terminalreporter.write_line(line)


def summed_up(ground: str, figures: Sequence[Figures]) -> Iterator[str]:
    """Return the lines about the seeds of one ground."""

    def total(values: Iterable[int]) -> str:
        return f"{sum(values):,}".replace(",", " ")

    yield (
        f"{ground}: {len(figures)} seeds of {min(each.seed for each in figures)} to "
        f"{max(each.seed for each in figures)}, "
        f"{total(each.requests for each in figures)} requests, "
        f"{total(each.made for each in figures)} instances made, "
        f"{total(each.kills for each in figures)} kills, "
        f"{total(each.leases_lost for each in figures)} leases found lost, "
        f"{total(each.faults for each in figures)} faults injected, "
        f"{total(each.outages for each in figures)} outages"
    )
    yield f"    slowest recovery: {max(each.recovery_s for each in figures):.1f} s"
    found: Counter[str] = Counter()
    for each in figures:
        found.update(each.found)
    yield f"    found: {', '.join(f'{count} {kind}' for kind, count in found.items())}"
    guilty = [str(each.seed) for each in figures if any(each.found.values())]
    if guilty:
        yield f"    in the seeds {', '.join(guilty)}"

"""The lines of a benchmark: what was measured, its goal, what was seen, the bare baseline of the same run."""

from dataclasses import dataclass

from benchmarks._load import Load, Round, play
from benchmarks._site import Program


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `ratio` is ours to the baseline's."""

    what: str
    goal: str
    seen: str
    baseline: str = ""
    ratio: float | None = None

    def show(self) -> None:
        """Print it."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        print(f"{self.what:<52} {self.goal:<28} {self.seen:<44} {self.baseline:<34} {ratio}", flush=True)


def heading() -> None:
    """Print what the columns are."""
    print(f"{'what':<52} {'goal':<28} {'seen':<44} {'baseline, same run':<34} ratio", flush=True)


@dataclass(frozen=True, slots=True)
class Measured:
    """A round, and what it cost the server."""

    seen: Round
    cpu_us: float  # of the server, a request

    def __str__(self) -> str:
        seen = self.seen
        return (
            f"p50 {seen.p50_ms:.2f} p99 {seen.p99_ms:.1f} ms, {seen.per_second:,.0f}/s, {self.cpu_us:,.0f} µs"
        )

    def ratio_to(self, baseline: "Measured") -> float:
        """Return the ratio of what a request costs: processor time does not depend on who else is running."""
        return self.cpu_us / baseline.cpu_us


def best_of(rounds: int, program: Program, load: Load) -> Measured:
    """Return the quickest of a few rounds: other programs can only make it slower."""
    return max((_measured(program, load) for _ in range(rounds)), key=lambda each: each.seen.per_second)


def _measured(program: Program, load: Load) -> Measured:
    before = program.cpu_s()
    seen = play(program.url, load)
    return Measured(seen, (program.cpu_s() - before) / load.requests * 1e6)

"""How busy an instance looks: series that are plausible, and the same whenever they are asked for.

A value follows from the instance's id and the instant alone, so that two clients see one history. The use of
the GPU can be set by hand, 0 making an idle instance. The newest minute is not there yet, as in the cloud.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import pi, sin

SHORTEST_WINDOW = 60
DEFAULT_INTERVAL = 15
LAG = 60
MOST_POINTS = 11_000
WAVE = 600  # seconds from one peak of the load to the next
GPU_PERCENT = 62.0  # what a busy instance's GPU swings around


@dataclass(frozen=True, slots=True)
class GpuUse:
    """How busy an instance's GPU is, in percent, as somebody has set it."""

    id: str  # the instance's
    steps: tuple[tuple[int, float | None], ...]  # since when it is what; None: plausible again

    def percent_at(self, at: int) -> float | None:
        """Return what was set for an instant."""
        return next((percent for since, percent in reversed(self.steps) if since <= at), None)


@dataclass(frozen=True, slots=True)
class Window:
    """Which instants are asked for."""

    start: int
    end: int
    interval: int

    @property
    def instants(self) -> range:
        """The instants that have a value: on multiples of the interval, so that windows overlap cleanly."""
        first = -(-self.start // self.interval) * self.interval
        return range(first, self.end + 1, self.interval)


@dataclass(frozen=True, slots=True)
class Point:
    """A value in percent at an instant."""

    at: int
    percent: float


Series = tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Load:
    """What is measured of an instance over a window."""

    cpu: Series
    memory: Series
    root_disk: Series
    gpu: Mapping[str, Series]
    gpu_memory: Mapping[str, Series]


@dataclass(frozen=True, slots=True)
class Subject:
    """The instance that is measured: its GPUs, the times at which it ran, and what was set by hand."""

    id: str
    gpu_ids: tuple[str, ...]
    runs: tuple[tuple[int, int], ...]
    use: GpuUse

    def ran_at(self, at: int) -> bool:
        """Tell whether the instance ran at an instant."""
        return any(start <= at <= end for start, end in self.runs)

    def level_at(self, at: int) -> float:
        """Return what the use of its GPUs swings around at an instant."""
        percent = self.use.percent_at(at)
        return GPU_PERCENT if percent is None else percent


def window(now: int, *, start: int, end: int, interval: int) -> Window:
    """Return the window asked for; what is missing or makes no sense silently becomes the default.

    Without any times that is the last minute that there is something of.
    """
    newest = now if start or end else now - LAG
    last = end if 0 < end <= now else newest
    first = start if 0 < start <= last - SHORTEST_WINDOW else last - SHORTEST_WINDOW
    step = interval if interval > DEFAULT_INTERVAL else DEFAULT_INTERVAL
    return Window(first, last, max(step, (last - first) // MOST_POINTS))


def measured(subject: Subject, asked: Window, now: int) -> Load:
    """Return what there is of the window: only while the instance ran, and nothing of the last minute."""
    instants = [at for at in asked.instants if at <= now - LAG and subject.ran_at(at)]

    def series(name: str, percent: Callable[[str, int], float]) -> Series:
        return tuple(Point(at, percent(f"{subject.id}/{name}", at)) for at in instants)

    def swinging(share: float, rest: float = 0.0) -> Callable[[str, int], float]:
        return lambda key, at: _swing(key, at, rest + subject.level_at(at) * share)

    def loaded(key: str, at: int) -> float:
        return _steady(key, 40.0, 90.0) if subject.level_at(at) > 0 else 0.0

    return Load(
        cpu=series("cpu", swinging(0.4)),
        memory=series("memory", swinging(0.3, rest=12.0)),
        root_disk=series("disk", lambda key, _: _steady(key, 10.0, 60.0)),
        gpu={gpu: series(f"gpu{gpu}", swinging(1.0)) for gpu in subject.gpu_ids},
        gpu_memory={gpu: series(f"vram{gpu}", loaded) for gpu in subject.gpu_ids},
    )


def average(series: Mapping[str, Series]) -> Series:
    """Return the mean over all GPUs."""
    return tuple(
        Point(points[0].at, round(sum(point.percent for point in points) / len(points), 2))
        for points in zip(*series.values(), strict=True)
    )


def _swing(key: str, at: int, around: float) -> float:
    """A wave with some noise around a level; a level of 0 stays at 0."""
    phase = _share(key)
    noise = _share(f"{key}/{at}") - 0.5
    return round(
        min(100.0, max(0.0, around * (1 + 0.2 * sin(2 * pi * (at / WAVE + phase)) + 0.1 * noise))), 2
    )


def _steady(key: str, least: float, most: float) -> float:
    return round(least + (most - least) * _share(key), 2)


def _share(key: str) -> float:
    """A number from 0 up to 1 that belongs to a key."""
    return int.from_bytes(blake2b(key.encode(), digest_size=6).digest()) / 2**48

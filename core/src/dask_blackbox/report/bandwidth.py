"""How fast results went between workers, as a map of the busiest of them."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox.events import SchedulerLoad
from dask_blackbox.report.formatting import plain, size
from dask_blackbox.report.workers import Life
from dask_blackbox.run import RunTables

__all__ = ["Bandwidth", "bandwidth_of"]

_MOST, _WIDEST, _PAIRS = 40, 480, 50


class Cell(NamedTuple):
    """A pair of workers: its place, how dark it is, and what it says."""

    row: int
    column: int
    share: float
    said: str


class Bandwidth(NamedTuple):
    """The map, and the fastest pairs as (from, to, bytes per second)."""

    names: list[str]
    step: int
    cells: list[Cell]
    pairs: list[tuple[str, str, float]]
    left_out: int

    @property
    def size(self) -> int:
        """Pixels that the map is wide."""
        return self.step * len(self.names)


def bandwidth_of(run: RunTables, lives: list[Life]) -> Bandwidth:
    """Return what the scheduler reported last; empty where nothing was moved."""
    loads = [each for each in run.of(SchedulerLoad) if each.bandwidth]
    if not loads:
        return Bandwidth([], 0, [], [], 0)
    labels = {life.address: plain(life.label) for life in lives}
    # Dask tells who received first.
    pairs = [
        (labels.get(source, plain(source)), labels.get(to, plain(to)), speed)
        for to, source, speed in loads[-1].bandwidth
    ]
    pairs.sort(key=lambda each: -each[2])
    moved: dict[str, float] = {}
    for source, to, speed in pairs:
        for name in (source, to):
            moved[name] = moved.get(name, 0.0) + speed
    names = sorted(sorted(moved, key=lambda name: -moved[name])[:_MOST])
    places = {name: place for place, name in enumerate(names)}
    most = pairs[0][2] or 1.0
    cells = [
        Cell(
            places[source], places[to], round(0.12 + 0.88 * speed / most, 3),
            f"{source} to {to}: {size(speed)} per second",
        )
        for source, to, speed in pairs
        if source in places and to in places
    ]  # fmt: skip
    step = max(10, min(34, _WIDEST // len(names)))
    return Bandwidth(names, step, cells, pairs[:_PAIRS], len(moved) - len(names))

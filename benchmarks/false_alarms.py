"""How often is a healthy run called slower, or more memory, than usual?

    python benchmarks/false_alarms.py [--runs 1000] [--seed 0]

Each run is the last of a job of its own, made up anew: with its own noise (lognormal, in
some jobs growing with the input), trend, week, outliers, neighbours that make a few runs
in a row slow, and a history of 3 to 300 runs.  Every fifth job does not tell how much it
read.  Prints the rate of false alarms for each run, and how often a run that did become
slower, or larger, is found.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from dask_blackbox.analyse.rules.history import more_memory, slower
from dask_blackbox.sketch import Inputs, PrefixSketch, Sketch

__all__ = ["Rates", "made_up_job", "rates"]

_DAY = 86_400.0
_READ = 100
_SIX = (0.5, 0.8, 1.0, 1.2, 1.6, 2.2)
_SATURDAY = 5
_SLOW_ONCE = 0.02
_LARGE_ONCE = 0.01
_BUSY = 0.01
_SILENT = 0.2
_MANY = 1e11


def made_up_job(random: np.random.Generator, runs: int) -> list[Sketch]:
    """Return the sketches of a job's healthy runs, the oldest first: the newest of so many."""
    days = np.arange(runs)
    trend = random.choice([0.0, 0.0, 0.001, 0.004, 0.01])
    weekend = random.choice([1.0, 0.8, 0.4, 0.2])
    in_week = np.where((days + random.integers(7)) % 7 >= _SATURDAY, weekend, 1.0)
    jitter = random.choice([0.01, 0.05, 0.15, 0.4])
    size = random.uniform(1e8, 1e12)
    read = size * in_week * np.exp(trend * days + random.normal(0, jitter, runs))
    noise = random.choice([0.03, 0.06, 0.1, 0.15, 0.25])
    grows = random.choice([0.0, 0.0, 0.5])  # noise that follows the input
    spread = noise * np.exp(grows * (np.log(read) - np.log(read).mean()).clip(-2, 2))
    base, per_byte = random.uniform(5, 120), random.uniform(60, 7200) / size
    power = random.uniform(0.8, 1.05)
    took = base + (per_byte * read**power * size ** (1 - power))
    shaken = np.exp(random.normal(0, 1, runs) * spread)
    neighbours = _neighbours(random, runs)
    # Seconds that tasks have a core, of four threads: neighbours share caches and clocks.
    chance = random.spawn(1)[0]
    own = took * 3.0 * np.sqrt(neighbours) * np.exp(chance.normal(0, noise / 3, runs))
    took *= shaken * neighbours
    outliers = random.random(runs) < _SLOW_ONCE
    took = np.where(outliers, took * random.uniform(1.2, 2.2, runs), took)
    peak = random.uniform(2e8, 2e10) * (0.3 + 0.7 * (read / size) ** 0.8)
    peak *= np.exp(random.normal(0, noise / 2, runs))
    peak = np.where(random.random(runs) < _LARGE_ONCE, peak * 1.4, peak)
    reported = random.random() > _SILENT
    parts = max(8, int(size / 1e8)) if size < _MANY else 1000
    shares = random.dirichlet(np.ones(random.integers(2, 9)))
    columns = {
        "share": read / size,
        "read": read,
        "took": took,
        "own": own,
        "peak": peak,
        "spread": spread,
    }
    return [
        _sketch(
            random,
            chance,
            day,
            **{name: float(column[day]) for name, column in columns.items()},
            shares=shares,
            parts=parts,
            reported=reported,
        )
        for day in days[-_READ - 1 :]
    ]


def _neighbours(random: np.random.Generator, runs: int) -> np.ndarray:
    """Return by how much a busy cluster slows some runs in a row down."""
    slow = np.ones(runs)
    for start in np.flatnonzero(random.random(runs) < _BUSY):
        slow[start : start + random.integers(1, 5)] *= random.uniform(1.05, 1.3)
    return slow


def _sketch(
    random: np.random.Generator,
    chance: np.random.Generator,
    day: int,
    *,
    share: float,
    read: float,
    took: float,
    own: float,
    peak: float,
    spread: float,
    shares: np.ndarray,
    parts: int,
    reported: bool,
) -> Sketch:
    tasks = max(4, int(parts * share))
    prefixes = []
    for number, part in enumerate(shares):
        seconds = took * 4 * part / tasks * math.exp(random.normal(0, spread / 2))
        memory = peak * random.uniform(0.7, 1.0)
        prefixes.append(
            PrefixSketch(
                name=f"part{number}",
                tasks=tasks,
                planned=tasks,
                roots=tasks if number == 0 else 0,
                seconds=tuple(seconds * each for each in _SIX),
                memory=tuple(memory * each for each in (0.5, 0.7, 0.8, 0.9, 1.0, 1.0)),
                compute=seconds * tasks,
                cpu=own * part * math.exp(chance.normal(0, spread / 3)),
            )
        )
    return Sketch(
        job="made up",
        run_id=f"run-{day}",
        state="succeeded",
        started=1.7e9 + day * _DAY,
        duration=took,
        numbers={"duration": took, "peak_memory": peak},
        inputs=Inputs(partitions=tasks, nbytes=round(read)) if reported else Inputs(),
        prefixes=tuple(sorted(prefixes, key=lambda each: -each.compute)),
    )


def _times(sketch: Sketch, factor: float) -> Sketch:
    """Return a run that took and needed so many times as much."""
    numbers = {name: value * factor for name, value in sketch.numbers.items()}
    prefixes = tuple(
        msgspec.structs.replace(
            each,
            seconds=tuple(factor * value for value in each.seconds),
            memory=tuple(factor * value for value in each.memory),
            compute=each.compute * factor,
            cpu=(each.cpu or 0) * factor,
        )
        for each in sketch.prefixes
    )
    return msgspec.structs.replace(
        sketch,
        numbers=numbers,
        duration=(sketch.duration or 0) * factor,
        prefixes=prefixes,
    )


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Shares of runs that were called unusual.

    Attributes:
        runs: How many runs there were.
        slower: Of healthy ones, for their time.
        memory: Of healthy ones, for their memory.
        either: Of healthy ones, for any of the two.
        found: Of those that are worse, by history's length and by how many times.
    """

    runs: int
    slower: float
    memory: float
    either: float
    found: dict[tuple[str, float], tuple[float, float]]


_LENGTHS = (("3-7", 3, 8), ("8-20", 8, 21), ("21-60", 21, 61), ("61-300", 61, 301))
_FACTORS = (1.5, 2.0, 3.0)


def rates(runs: int, seed: int) -> Rates:
    """Return how often healthy runs are accused, and others are found."""
    random = np.random.default_rng(seed)
    alarms = np.zeros((runs, 2), bool)
    lengths = np.zeros(runs, int)
    hits = {factor: np.zeros((runs, 2), bool) for factor in _FACTORS}
    for number in range(runs):
        length = lengths[number] = round(
            math.exp(random.uniform(math.log(3), math.log(300)))
        )
        *earlier, last = made_up_job(random, length + 1)
        newest = earlier[::-1][:_READ]
        alarms[number] = _accused(newest, last)
        for factor in _FACTORS:
            hits[factor][number] = _accused(newest, _times(last, factor))
    found = {}
    for name, low, high in _LENGTHS:
        chosen = (lengths >= low) & (lengths < high)
        for factor in _FACTORS:
            slow, large = hits[factor][chosen].mean(axis=0)
            found[name, factor] = (float(slow), float(large))
    slow, large = alarms.mean(axis=0)
    return Rates(
        runs=runs,
        slower=float(slow),
        memory=float(large),
        either=float(alarms.any(axis=1).mean()),
        found=found,
    )


def _accused(earlier: Sequence[Sketch], last: Sketch) -> tuple[bool, bool]:
    return bool(slower(earlier, last)), bool(more_memory(earlier, last))


def main() -> None:
    """Print the rates as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    reported = rates(asked.runs, asked.seed)
    print(f"{reported.runs:,} healthy runs, seed {asked.seed}\n")
    print("| false alarms | share of runs |\n|---|---|")
    print(f"| slower-than-usual | {reported.slower:.2%} |")
    print(f"| more-memory-than-usual | {reported.memory:.2%} |")
    print(f"| either | {reported.either:.2%} |\n")
    heads = " | ".join(f"{factor:g} times" for factor in _FACTORS)
    print(f"| earlier runs | {heads} | (found as slower, as more memory)")
    print("|---" * (len(_FACTORS) + 1) + "|")
    for name, _, _ in _LENGTHS:
        cells = [reported.found[name, factor] for factor in _FACTORS]
        said = " | ".join(f"{slow:.0%}, {large:.0%}" for slow, large in cells)
        print(f"| {name} | {said} |")


if __name__ == "__main__":
    main()

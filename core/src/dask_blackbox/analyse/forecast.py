"""Where the memory of a job is going: its growth from run to run, and when it meets the limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dask_blackbox.sketch import Sketch

TERMINATED_AT = 0.95
"""Share of its limit at which a worker is terminated, unless configured otherwise."""

NEAR = 0.90
"""Within 5 % of the limit of that."""

_LEAST_RUNS = 8
_MOST_RUNS = 60
_AHEAD = 30
_LEAST_GROWTH = 0.003
_DAY = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What will become of a job's peak memory if it goes on so.

    Attributes:
        peak: Of this run, bytes.
        limit: Of a worker, bytes.
        near: How many runs in a row, this one included, came within 5 % of the end.
        growth: From run to run, as a share; 0: none that is to be distinguished from noise.
        runs_left: Runs until workers are terminated; None: not in sight.
        days_left: The same in days, by how often the job runs.
        ahead: How many runs `needed` looks ahead.
        needed: Bytes that a worker needs then, its peak being 80 % of it.
        runs: How many runs say so.
    """

    peak: float
    limit: float
    near: int
    growth: float
    runs_left: int | None
    days_left: float | None
    ahead: int
    needed: float
    runs: int


def forecast_of(earlier: Sequence[Sketch], sketch: Sketch) -> Forecast | None:
    """Return where the memory is going; None where memory or limit is not known.

    Args:
        earlier: Runs that ended well, the newest first.
    """
    peak, limit = sketch.measure("peak_memory"), sketch.measure("memory_limit")
    if not peak or not limit:
        return None
    runs = [sketch, *earlier][:_MOST_RUNS]
    known = [(each, p) for each in runs if (p := each.measure("peak_memory"))]
    growth, level = _growth([value for _, value in known])
    left = None
    if growth > _LEAST_GROWTH:
        to_go = math.log(TERMINATED_AT * limit / max(level, 1.0)) / math.log1p(growth)
        left = max(0, math.ceil(to_go))
    future = max(level * (1 + growth) ** _AHEAD, peak) if growth else peak
    return Forecast(
        peak=peak,
        limit=limit,
        near=_near([each for each, _ in known]),
        growth=growth,
        runs_left=left,
        days_left=None
        if left is None
        else left * _between([e for e, _ in known]) / _DAY,
        ahead=_AHEAD,
        needed=future / 0.8,
        runs=len(known),
    )


def _near(runs: Sequence[Sketch]) -> int:
    """Return how many of the newest runs in a row came near their limit."""
    number = 0
    for each in runs:
        peak, limit = each.measure("peak_memory"), each.measure("memory_limit")
        if not peak or not limit or peak < NEAR * limit:
            break
        number += 1
    return number


def _growth(peaks: Sequence[float]) -> tuple[float, float]:
    """Return the growth from run to run, if it is more than noise, and where it stands.

    Args:
        peaks: The newest first.
    """
    level = float(np.median(peaks[:5]))
    if len(peaks) < _LEAST_RUNS:
        return 0.0, level
    ys = np.log(np.array(peaks[::-1], float))
    xs = np.arange(len(ys), dtype=float)
    first, second = np.triu_indices(len(ys), 1)
    steps = ys[second] - ys[first]
    slope = float(np.median(steps / (xs[second] - xs[first])))
    # Kendall's test: of noise, as many pairs rise as fall.
    runs = len(ys)
    rising = float(np.sign(steps).sum())
    deviation = math.sqrt(runs * (runs - 1) * (2 * runs + 5) / 18)
    if slope <= 0 or rising / deviation < 3.3:  # noqa: PLR2004 - one time in 2,000
        return 0.0, level
    rest = float(np.median(ys - slope * xs))
    return math.expm1(slope), math.exp(rest + slope * xs[-1])


def _between(runs: Sequence[Sketch]) -> float:
    """Return the usual seconds from one run to the next."""
    moments = sorted(each.started for each in runs)
    return float(np.median(np.diff(moments))) if len(moments) > 1 else _DAY

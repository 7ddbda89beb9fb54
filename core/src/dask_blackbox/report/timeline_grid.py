"""Very many task executions as a grid of lanes and time steps."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import numpy as np
import polars as pl

from dask_blackbox.report.axis import Axis
from dask_blackbox.report.lives import Life

__all__ = ["Grid", "grid_of"]

_CELLS = 160_000
_FEWEST_STEPS = 60
_MOST_STEPS = 1_600
_NOTHING = 255


class Grid(msgspec.Struct):
    """Executions summed by lane and step, as base64 of byte arrays, lane by lane.

    Attributes:
        steps: Steps per lane.
        step: Length of a step in µs.
        prefix: Index of the prefix that took most of the cell (uint8, 255: nothing ran).
        fill: Share of the cell that was busy, 0 to 255 (uint8).
        count: How many executions began in the cell (uint16, little-endian).
    """

    steps: int
    step: int
    prefix: str
    fill: str
    count: str


def grid_of(
    executions: pl.DataFrame,
    axis: Axis,
    lanes: list[tuple[str, int | None]],
    lives: list[Life],
) -> Grid:
    """Return executions summed by lane and step.

    Args:
        executions: With `lane`, `number` (of the prefix), `begin` and `stop` (µs).
        axis: That they lie on.
        lanes: (worker, thread) of each lane; without thread: all threads of that worker.
        lives: The workers.
    """
    n_lanes = len(lanes)
    steps = max(_FEWEST_STEPS, min(_MOST_STEPS, _CELLS // max(1, n_lanes)))
    step = max(1, int(axis.length * 1e6 / steps) + 1)
    cells = _cells(executions, step, steps)
    index = cells["cell"].to_numpy()
    threads = {life.address: life.nthreads or 1 for life in lives}
    room = np.array(
        [1 if thread is not None else threads.get(w, 1) for w, thread in lanes],
        dtype=np.float64,
    )
    share = cells["busy"].to_numpy() / (step * room[index // steps])
    prefix = np.full(n_lanes * steps, _NOTHING, dtype=np.uint8)
    fill = np.zeros(n_lanes * steps, dtype=np.uint8)
    begun = np.zeros(n_lanes * steps, dtype="<u2")
    prefix[index] = cells["number"].to_numpy()
    fill[index] = np.clip(np.ceil(share * 255), 1, 255).astype(np.uint8)
    begun[index] = np.minimum(cells["begun"].to_numpy(), 65535)
    return Grid(
        steps=steps, step=step, prefix=_b64(prefix), fill=_b64(fill), count=_b64(begun)
    )


def _cells(rest: pl.DataFrame, step: int, steps: int) -> pl.DataFrame:
    """Sum executions into cells; what spans several is shared among them."""
    spans = rest.select(
        "lane",
        "number",
        "begin",
        "stop",
        (pl.col("begin") // step).clip(0, steps - 1).alias("from"),
        (pl.col("stop") // step).clip(0, steps - 1).alias("to"),
    )
    within = spans.filter(pl.col("from") == pl.col("to")).select(
        (pl.col("lane") * steps + pl.col("from")).alias("cell"),
        "number",
        (pl.col("stop") - pl.col("begin")).alias("busy"),
        pl.lit(1, pl.Int64).alias("begun"),
    )
    across = (
        spans.filter(pl.col("from") != pl.col("to"))
        .with_columns(pl.int_ranges("from", pl.col("to") + 1).alias("at"))
        .explode("at")
        .select(
            (pl.col("lane") * steps + pl.col("at")).alias("cell"),
            "number",
            (
                pl.min_horizontal("stop", (pl.col("at") + 1) * step)
                - pl.max_horizontal("begin", pl.col("at") * step)
            ).alias("busy"),
            (pl.col("at") == pl.col("from")).cast(pl.Int64).alias("begun"),
        )
    )
    shares = pl.concat([within, across]).group_by("cell", "number").agg(pl.all().sum())
    return (
        shares.sort("busy")
        .group_by("cell")
        .agg(pl.col("number").last(), pl.col("busy").sum(), pl.col("begun").sum())
    )


def _b64(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")

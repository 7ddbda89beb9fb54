"""Workers' memory and CPU over time, thinned without hiding a peak."""

from __future__ import annotations

import msgspec
import polars as pl

from dask_blackbox.formatting import count, duration
from dask_blackbox.report.axis import Axis, micros_since
from dask_blackbox.report.workers import WorkerProcess
from dask_blackbox.run_tables import RunTables

_POINTS = 40_000
_MOST_POINTS = 1_200
_FEWEST_POINTS = 20
_MOST_WORKERS = 1_000
_WORTH_SAYING = 0.9
_SAMPLING = 1000


class Curve(msgspec.Struct):
    """One worker's samples.

    Attributes:
        worker: Its address.
        at: ms since the axis began.
        memory: MiB of process memory, the highest of each step.
        cpu: Percent of one core, the mean of each step.
        limit: Memory limit in MiB.
        died: When it died, in ms since the axis began.
    """

    worker: str
    at: list[int]
    memory: list[float | None]
    cpu: list[float | None]
    limit: float | None = None
    nthreads: int | None = None
    died: int | None = None


class Curves(msgspec.Struct):
    """All workers' curves, the length of one step in ms, and how they were thinned."""

    workers: list[Curve]
    step: int
    summary: str


def curves_of(run: RunTables, axis: Axis, processes: list[WorkerProcess]) -> Curves:
    """Return the curves of all workers that were ever measured."""
    metrics = _with_last_lines(run.metrics, processes)
    sources = metrics["source"].unique().sort().to_list()
    by_address = {process.address: process for process in processes}
    ranked = sorted(sources, key=lambda source: _gravity(by_address.get(source)))
    shown = ranked[:_MOST_WORKERS]
    points = max(_FEWEST_POINTS, min(_MOST_POINTS, _POINTS // max(1, len(shown))))
    step = max(1, int(axis.length * 1e3 / points))
    thinned = _thinned(metrics, axis, step)
    curves = [
        _curve(str(source), part, by_address.get(str(source)), axis)
        for (source,), part in thinned.group_by("source", maintain_order=True)
        if source in set(shown)
    ]
    return Curves(
        curves, step, _summary(metrics.height, thinned.height, step, sources, shown)
    )


def _gravity(process: WorkerProcess | None) -> tuple[bool, int]:
    return (
        process is None or process.fate != "died",
        -((process.peak or 0) if process else 0),
    )


def _with_last_lines(
    metrics: pl.DataFrame, processes: list[WorkerProcess]
) -> pl.DataFrame:
    """Add what dead workers' exit reports say of their last half minute."""
    samples = metrics.filter(pl.col("source") != "scheduler").select(
        "at", "source", "memory", "cpu"
    )
    rows = [
        (round(at * 1e6), process.address, round(memory))
        for process in processes
        for at, memory in process.samples
    ]
    if not rows:
        return samples
    # The scheduler's samples of then are of the heartbeat before: they lag behind.
    for process in processes:
        if process.samples:
            begin, end = (round(process.samples[n][0] * 1e6) for n in (0, -1))
            stale = pl.col("at").dt.epoch("us").is_between(begin, end)
            samples = samples.filter(~((pl.col("source") == process.address) & stale))
    schema = {"at": pl.Int64, "source": pl.String, "memory": pl.Int64}
    last = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        pl.col("at").cast(samples.schema["at"]), pl.lit(None, pl.Float64).alias("cpu")
    )
    return pl.concat([samples, last.select(samples.columns)])


def _thinned(metrics: pl.DataFrame, axis: Axis, step: int) -> pl.DataFrame:
    at = micros_since(axis, "at") // 1000
    last = int(axis.length * 1000) + step
    return (
        metrics.with_columns(at.alias("ms"))
        .filter(pl.col("ms").is_between(-step, last))
        .with_columns((pl.col("ms") // step).alias("bin"))
        .group_by("source", "bin", maintain_order=True)
        .agg(
            # The moment of the peak, so that the curve meets the mark of a death.
            pl.col("ms").get(pl.col("memory").fill_null(-1).arg_max()).alias("ms"),
            (pl.col("memory").max() / 2**20).round(1).alias("memory"),
            pl.col("cpu").mean().round(0).alias("cpu"),
        )
        .sort("source", "bin")
    )


def _curve(
    source: str, part: pl.DataFrame, process: WorkerProcess | None, axis: Axis
) -> Curve:
    curve = Curve(
        source, part["ms"].to_list(), part["memory"].to_list(), part["cpu"].to_list()
    )
    if process is not None:
        curve.limit = round(process.limit / 2**20, 1) if process.limit else None
        curve.nthreads = process.nthreads
        if process.fate == "died" and process.left is not None:
            curve.died = round((process.left - axis.start) * 1000)
    return curve


def _summary(
    samples: int, points: int, step: int, sources: list[str], shown: list[str]
) -> str:
    if not samples:
        return "No worker was sampled."
    text = ""
    if points < samples * _WORTH_SAYING and step >= _SAMPLING:
        text = (
            f"Highest memory and mean CPU in each {duration(step / 1000)} "
            f"({count(samples)} samples)."
        )
    if len(shown) < len(sources):
        text += (
            f" Showing {count(len(shown))} of {count(len(sources))} workers: those that "
            "died, then those with most memory."
        )
    return text.strip()

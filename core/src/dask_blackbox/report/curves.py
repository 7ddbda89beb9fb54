"""Workers' memory and CPU over time, and the sums of the cluster, thinned without hiding a peak."""

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
_SHOWN_FROM = 0.9
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
    if points < samples * _SHOWN_FROM and step >= _SAMPLING:
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


_POINTS_OF_SUMS = 600
_WARNING, _ERROR = 30, 40

# Id, heading, unit, and (column, its name) of each line.
_TRACKS = (
    ("waiting", "Tasks on workers", "number", (("executing", "executing"), ("ready", "ready"))),
    ("network", "Network", "bytes", (("net_read", "read"), ("net_write", "written"))),
    ("disk", "Disk and spilled data", "bytes", (("disk_read", "read"), ("disk_write", "written"), ("spilled", "spilled"))),
    ("devices", "Memory of GPUs", "bytes", (("gpu_memory", "in use on the fullest"),)),
    ("gpus", "GPUs busy (percent)", "number", (("gpu", "mean of all workers"),)),
    ("loop", "Event loop of the scheduler", "seconds", (("loop", "between two turns"),)),
)  # fmt: skip


class Line(msgspec.Struct):
    """One line of a track: null where nothing is known; `tone` names a colour."""

    name: str
    values: list[float | None]
    tone: str = ""


class Series(msgspec.Struct):
    """One track: its moments in ms since the axis began, and its lines."""

    id: str
    heading: str
    unit: str
    at: list[int]
    lines: list[Line]
    bars: bool = False


def series_of(run: RunTables, axis: Axis) -> list[Series]:
    """Return the tracks of which anything is known."""
    table = summed_metrics(run.metrics, axis, _POINTS_OF_SUMS)
    found = [_log_line_series(run, axis)]
    if table.height:
        at = ((table["at"] / 1e3 - axis.start) * 1e3).round().cast(pl.Int64).to_list()
        for name, heading, unit, columns in _TRACKS:
            known = [each for each in columns if (table[each[0]].max() or 0) != 0]
            lines = [
                Line(text, table[column].round(3 if unit == "seconds" else 0).to_list())
                for column, text in known
            ]
            if lines:
                found.append(Series(name, heading, unit, at, lines))
    return [each for each in found if each.lines]


def _log_line_series(run: RunTables, axis: Axis) -> Series:
    """Return how many log lines there were in each step, by level."""
    step = max(1, int(axis.length * 1e3 / _POINTS_OF_SUMS))
    steps = int(axis.length * 1e3 / step) + 1
    grave = pl.col("level").fill_null(0)
    lines = run.logs.select(
        (micros_since(axis, "at") // 1000 // step).alias("step"),
        pl.when(grave >= _ERROR).then(0).when(grave >= _WARNING).then(1).otherwise(2)
        .alias("rank"),
    ).filter(pl.col("step").is_between(0, steps - 1))  # fmt: skip
    numbers = [[0.0] * steps for _ in range(3)]
    for place, rank, number in (
        lines.group_by("step", "rank", maintain_order=True).len().iter_rows()
    ):
        numbers[rank][place] = number
    named = (("errors", "fail"), ("warnings", "warn"), ("other lines", "curve"))
    made = [
        Line(name, [*values], tone)
        for (name, tone), values in zip(named, numbers, strict=True)
        if any(values)
    ]
    at = [place * step for place in range(steps)]
    return Series("loglines", "Log lines", "number", at, made, bars=True)


def summed_metrics(
    metrics: pl.DataFrame, axis: Axis, points: int = 1_200
) -> pl.DataFrame:
    """Sum the workers' means (of memory: the highest) in each step of time."""
    known = metrics.filter(pl.col("at").is_not_null())
    if known.height == 0:
        return known
    step = max(1_000_000, int(axis.length * 1e6 / points))
    means = ("managed", "spilled", "net_read", "net_write", "disk_read", "disk_write")
    stepped = (
        known.with_columns((pl.col("at").dt.epoch("us") // step * step).alias("step"))
        .group_by("source", "step", maintain_order=True)
        .agg(
            pl.col("memory").max(),
            pl.col("cpu").mean() / 100,
            pl.col("event_loop").max(),
            pl.col("gpu_memory").max(),
            pl.col("gpu").mean(),
            *(pl.col(name).mean() for name in (*means, "executing", "ready")),
        )
    )
    workers = (
        stepped.filter(pl.col("source") != "scheduler")
        .group_by("step", maintain_order=True)
        .agg(
            pl.col("memory").max().alias("most"),
            pl.col("memory").sum(),
            pl.col("cpu").sum().alias("cores"),
            # Not their sum: several workers may use one device.
            pl.col("gpu_memory").max(),
            pl.col("gpu").mean(),
            *(pl.col(name).sum() for name in (*means, "executing", "ready")),
        )
    )
    scheduler = stepped.filter(pl.col("source") == "scheduler").select(
        "step", pl.col("cpu").alias("scheduler"), pl.col("event_loop").alias("loop")
    )
    joined = workers.join(scheduler, on="step", how="full", coalesce=True).sort("step")
    return joined.select(
        (pl.col("step") / 1e3).alias("at"), pl.exclude("step").cast(pl.Float64)
    )

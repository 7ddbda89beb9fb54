"""The figures of the performance report: the task stream, the system over time, Dask's own.

The task stream has a row per worker thread and a bar per action.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import polars as pl
from bokeh.layouts import column
from bokeh.models import (
    AdaptiveTicker,
    BoxZoomTool,
    ColumnDataSource,
    DatetimeTickFormatter,
    FixedTicker,
    HoverTool,
    NumeralTickFormatter,
    PanTool,
    ResetTool,
    WheelZoomTool,
)
from bokeh.models.annotations import Span
from bokeh.palettes import Category20_20
from bokeh.plotting import figure
from bokeh.transform import linear_cmap

from dask_blackbox.events import SchedulerLoad
from dask_blackbox.formatting import count, counted, plain
from dask_blackbox.report.axis import Axis
from dask_blackbox.report.curves import summed_metrics
from dask_blackbox.report.profile_tree import INTERVAL, ProfileNode
from dask_blackbox.report.workers import WorkerProcess
from dask_blackbox.run_tables import RunTables

_MOST_BARS = 100_000
_MOST_NAMED = 120
_LABELLED = 60

_PREFIXES = tuple(
    colour for colour in Category20_20 if colour not in ("#d62728", "#ff9896")
)
_ACTIONS = {
    "transfer": "#e41a1c",
    "disk-read": "#ff7f0e",
    "deserialize": "#999999",
    "erred": "#000000",
    "retried": "#5f5f5f",
    "killed": "#8b0000",
}
_TOOLTIP = """
<div><b>@key</b></div><div>@label, @seconds{0.000} s</div><div>$name</div>
"""


def stream_figure(tasks: pl.DataFrame, processes: list[WorkerProcess]) -> object:
    """Return the figure; its title says what it shows."""
    placed = tasks.filter(pl.col("start").is_not_null() & pl.col("stop").is_not_null())
    bars, lanes = _bars(placed), _lanes(placed)
    shown = bars
    if bars.height > _MOST_BARS:
        shown = pl.concat(
            [
                bars.filter("grave").head(_MOST_BARS // 2),
                bars.filter(~pl.col("grave")).top_k(_MOST_BARS, by="seconds"),
            ]
        ).head(_MOST_BARS)
    text = f"{counted(placed.height, 'task execution')}, {counted(bars.height, 'bar')}"
    if shown.height < bars.height:
        text += f"; showing the {count(shown.height)} longest, and what failed"
    shown = shown.join(lanes, on=["worker", "thread"], how="left", nulls_equal=True)
    return _figure(shown, lanes, processes, text)


def _bars(tasks: pl.DataFrame) -> pl.DataFrame:
    """Return one row per bar: computing, and what came before it."""
    base = tasks.select(
        "key",
        "prefix",
        "worker",
        "thread",
        "outcome",
        (pl.col("start").dt.epoch("us") / 1e3).alias("start"),
        (pl.col("stop").dt.epoch("us") / 1e3).alias("stop"),
        *(
            pl.col(name).fill_null(0.0) * 1e3
            for name in ("compute", "transfer", "disk", "deserialize")
        ),
    )
    computing = pl.max_horizontal("start", pl.col("stop") - pl.col("compute"))
    killed = pl.col("outcome") == "killed"
    grave = pl.col("outcome") != "finished"
    word = pl.when(grave).then(pl.col("outcome")).otherwise(pl.col("prefix"))
    compute = base.select(
        "key",
        "worker",
        "thread",
        word.alias("label"),
        pl.when(killed).then(pl.col("start")).otherwise(computing).alias("left"),
        pl.col("stop").alias("right"),
        grave.alias("grave"),
        pl.lit(0.8).alias("height"),
    )
    before = pl.lit(0.0)
    parts = [compute]
    for measure, action in (
        ("transfer", "transfer"),
        ("disk", "disk-read"),
        ("deserialize", "deserialize"),
    ):
        left = pl.col("start") + before
        parts.append(
            base.filter(pl.col(measure) > 0).select(
                "key",
                "worker",
                "thread",
                pl.lit(action).alias("label"),
                left.alias("left"),
                pl.min_horizontal(left + pl.col(measure), "stop").alias("right"),
                pl.lit(value=False).alias("grave"),
                pl.lit(0.4).alias("height"),
            )
        )
        before = before + pl.col(measure)
    bars = pl.concat(parts)
    return bars.with_columns(
        ((pl.col("right") - pl.col("left")) / 1e3).alias("seconds")
    )


def _lanes(tasks: pl.DataFrame) -> pl.DataFrame:
    lanes = tasks.select("worker", "thread").unique().sort("worker", "thread")
    return lanes.with_row_index("y")


def _colours(words: pl.Series, prefixes: list[str]) -> tuple[pl.Series, list[str]]:
    """Return the number of each word's colour, and the colours."""
    palette = [*_PREFIXES, *_ACTIONS.values()]
    numbers = {prefix: n % len(_PREFIXES) for n, prefix in enumerate(prefixes)}
    numbers |= {action: len(_PREFIXES) + n for n, action in enumerate(_ACTIONS)}
    table = pl.DataFrame(
        {"label": list(numbers), "colour": list(numbers.values())},
        schema={"label": pl.String, "colour": pl.Float32},
    )
    found = words.to_frame("label").join(table, on="label", how="left")["colour"]
    return found.fill_null(0.0), palette


def _figure(
    bars: pl.DataFrame, lanes: pl.DataFrame, processes: list[WorkerProcess], text: str
) -> object:
    plot = figure(
        title=f"Task Stream: {text}",
        x_axis_type="datetime",
        tools=[
            PanTool(dimensions="width"),
            BoxZoomTool(),
            WheelZoomTool(dimensions="width"),
            ResetTool(),
        ],
        sizing_mode="stretch_both",
        output_backend="canvas",
    )
    labels = {process.address: process.label for process in processes}
    words = bars.group_by("label", maintain_order=True).agg(pl.col("seconds").sum())
    words = words.filter(~pl.col("label").is_in(list(_ACTIONS)))
    prefixes = words.sort("seconds", "label", descending=[True, False])[
        "label"
    ].to_list()
    colour, palette = _colours(bars["label"], prefixes)
    bars = bars.with_columns(colour.alias("colour"))
    by_worker = lanes["worker"].n_unique() <= _MOST_NAMED
    parts = bars.partition_by("worker") if by_worker and bars.height else [bars]
    for part in parts:
        name = labels.get(part["worker"][0], part["worker"][0]) if by_worker else ""
        bar = plot.hbar(
            y="y",
            left="left",
            right="right",
            height="height",
            name=str(name or "one of many workers"),
            line_color=None,
            fill_color=linear_cmap("colour", palette, -0.5, len(palette) - 0.5),
            source=ColumnDataSource(_columns(part)),
        )
        bar.nonselection_glyph = None
    plot.add_tools(HoverTool(point_policy="follow_mouse", tooltips=_TOOLTIP))
    _label_lanes(plot, lanes, labels)
    plot.xaxis.formatter = DatetimeTickFormatter(
        milliseconds="%H:%M:%S.%3N", seconds="%H:%M:%S", minsec="%H:%M:%S"
    )
    plot.xaxis.axis_label = "UTC"
    plot.grid.grid_line_alpha = 0.3
    return plot


def _columns(part: pl.DataFrame) -> dict[str, Any]:
    exact = {name: part[name].to_numpy() for name in ("left", "right")}
    coarse = {
        name: part[name].to_numpy().astype(np.float32)
        for name in ("y", "height", "seconds", "colour")
    }
    texts = {name: part[name].fill_null("").to_list() for name in ("key", "label")}
    return {**exact, **coarse, **texts}


def _label_lanes(plot: Any, lanes: pl.DataFrame, labels: dict[str, str]) -> None:
    first = lanes.group_by("worker", maintain_order=True).agg(pl.col("y").mean())
    step = -(-first.height // _LABELLED) or 1
    shown = first.gather_every(step)
    plot.yaxis.ticker = FixedTicker(ticks=shown["y"].to_list())
    plot.yaxis.major_label_overrides = {
        y: labels.get(worker, str(worker)) for worker, y in shown.iter_rows()
    }
    plot.y_range.flipped = True


_MOST_DEATHS = 200
_RED = "#c0392b"
_POWERS = [2**power for power in range(10)]


# Title, format of the axis, and (column, its label, its colour) of each line.
_PANELS: tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Memory of all workers",
        "0.0 ib",
        (
            ("memory", "process", "#1f77b4"),
            ("managed", "managed", "#2ca02c"),
            ("spilled", "spilled", "#8c564b"),
            ("most", "largest worker", "#ff7f0e"),
        ),
    ),
    ("CPU of all workers (cores)", "0.0", (("cores", "cores busy", "#1f77b4"),)),
    (
        "Network (per second)",
        "0.0 ib",
        (("net_read", "read", "#1f77b4"), ("net_write", "write", "#ff7f0e")),
    ),
    (
        "Disk (per second)",
        "0.0 ib",
        (("disk_read", "read", "#1f77b4"), ("disk_write", "write", "#ff7f0e")),
    ),
    (
        "Tasks on workers",
        "0,0",
        (("executing", "executing", "#1f77b4"), ("ready", "ready", "#ff7f0e")),
    ),
    (
        "Scheduler",
        "0.0",
        (("scheduler", "cores busy", "#1f77b4"), ("loop", "event loop, s", "#ff7f0e")),
    ),
)


def system_figures(
    metrics: pl.DataFrame, axis: Axis, processes: list[WorkerProcess]
) -> object | None:
    """Return the panels below each other, deaths marked in all; None without samples."""
    table = summed_metrics(metrics, axis)
    if table.height == 0:
        return None
    source = ColumnDataSource({name: table[name].to_numpy() for name in table.columns})
    deaths = [
        process.left * 1e3
        for process in processes
        if process.fate == "died" and process.left
    ]
    panels: list[figure] = []
    for title, form, lines in _PANELS:
        if all(table[name].null_count() == table.height for name, _, _ in lines):
            continue
        shared = {"x_range": panels[0].x_range} if panels else {}
        panel = _panel(title, form, lines, source, **shared)
        for at in deaths[:_MOST_DEATHS]:
            panel.add_layout(
                Span(
                    location=at,
                    dimension="height",
                    line_color=_RED,
                    line_dash="dashed",
                )
            )
        panels.append(panel)
    return column(panels, sizing_mode="stretch_both")


def _panel(
    title: str,
    form: str,
    lines: tuple[tuple[str, str, str], ...],
    source: ColumnDataSource,
    **shared: Any,
) -> Any:
    panel: Any = figure(
        title=title,
        x_axis_type="datetime",
        sizing_mode="stretch_both",
        min_height=90,
        tools="xpan,xbox_zoom,xwheel_zoom,reset",
        **shared,
    )
    for name, label, colour in lines:
        panel.line(
            "at", name, source=source, color=colour, legend_label=label, line_width=1.6
        )
    tips = [("at", "@at{%H:%M:%S}")]
    tips += [(label, f"@{name}{{{form}}}") for name, label, _ in lines]
    panel.add_tools(
        HoverTool(
            tooltips=tips,
            formatters={"@at": "datetime"},
            mode="vline",
            renderers=panel.renderers[:1],
        )
    )
    panel.yaxis.formatter = NumeralTickFormatter(format=form)
    if form.endswith("ib"):
        panel.yaxis.ticker = AdaptiveTicker(base=1024, mantissas=_POWERS)
    panel.y_range.start = 0
    panel.legend.label_width = 100  # panels below each other begin and end alike
    panel.add_layout(panel.legend[0], "right")
    return panel


logger = logging.getLogger("dask_blackbox")
_MOST_FRAMES = 6_000
_STRETCHED = {"sizing_mode": "stretch_both"}
_Made = TypeVar("_Made")


def _made(make: Callable[[], _Made]) -> _Made | None:
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - another version of Dask
        logger.info("one of Dask's figures could not be made: %r", error)
        return None


def profile_figure(tree: ProfileNode) -> object | None:
    """Return Dask's flame graph of a profile; None if it is too large for that."""

    def make() -> object | None:
        from distributed.profile import plot_data, plot_figure

        data = plot_data(_cleaned(tree), profile_interval=INTERVAL)
        if len(data["left"]) > _MOST_FRAMES:
            return None
        made: object = plot_figure(data, **_STRETCHED)[0]
        return made

    return _made(make)


def _cleaned(tree: ProfileNode) -> dict[str, object]:
    """Return a profile with every field that Dask reads, its texts made harmless."""
    description = tree["description"]
    return {
        "count": tree["count"],
        "description": {
            "name": plain(str(description.get("name") or "")),
            "filename": plain(str(description.get("filename") or "")),
            "line_number": description.get("line_number") or 0,
            "line": plain(str(description.get("line") or "")),
        },
        "children": {name: _cleaned(child) for name, child in tree["children"].items()},
    }


def _last_load(run: RunTables) -> SchedulerLoad | None:
    return next(
        (each for each in reversed(run.of(SchedulerLoad)) if each.bandwidth), None
    )


def bandwidth_by_worker(
    run: RunTables, processes: list[WorkerProcess]
) -> object | None:
    """Return Dask's map of how fast results went from each worker to each other."""
    load = _last_load(run)
    if load is None:
        return None
    pairs = {(to, source): speed for to, source, speed in load.bandwidth}
    names = {
        process.address: SimpleNamespace(name=plain(process.label))
        for process in processes
    }

    def make() -> object:
        from distributed.dashboard.components.scheduler import BandwidthWorkers

        return _filled(
            BandwidthWorkers,
            SimpleNamespace(
                bandwidth_workers=pairs,
                workers=names,
                bandwidth=load.bandwidth_mean or 0,
            ),
        )

    return _made(make)


def bandwidth_by_type(run: RunTables) -> object | None:
    """Return Dask's chart of how fast results of each type went between workers."""
    load = _last_load(run)
    if load is None or not load.bandwidth_types:
        return None
    types = {plain(name): speed for name, speed in load.bandwidth_types.items()}

    def make() -> object:
        from distributed.dashboard.components.scheduler import BandwidthTypes

        return _filled(
            BandwidthTypes,
            SimpleNamespace(bandwidth_types=types, bandwidth=load.bandwidth_mean or 0),
        )

    return _made(make)


def _filled(component: Callable[..., Any], scheduler: SimpleNamespace) -> object:
    figure = component(scheduler, **_STRETCHED)
    figure.update()
    return figure.root

"""The task stream as Dask users know it: a row per worker thread, a bar per action."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from bokeh.models import (
    BoxZoomTool,
    ColumnDataSource,
    DatetimeTickFormatter,
    FixedTicker,
    HoverTool,
    PanTool,
    ResetTool,
    WheelZoomTool,
)
from bokeh.palettes import Category20_20
from bokeh.plotting import figure
from bokeh.transform import linear_cmap

from dask_blackbox.formatting import count, counted
from dask_blackbox.report.workers import WorkerProcess

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
    for column, action in (
        ("transfer", "transfer"),
        ("disk", "disk-read"),
        ("deserialize", "deserialize"),
    ):
        left = pl.col("start") + before
        parts.append(
            base.filter(pl.col(column) > 0).select(
                "key",
                "worker",
                "thread",
                pl.lit(action).alias("label"),
                left.alias("left"),
                pl.min_horizontal(left + pl.col(column), "stop").alias("right"),
                pl.lit(value=False).alias("grave"),
                pl.lit(0.4).alias("height"),
            )
        )
        before = before + pl.col(column)
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

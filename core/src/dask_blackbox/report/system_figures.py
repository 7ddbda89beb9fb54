"""The system over time: memory, CPU, network, disk and backlog of the whole cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import polars as pl
from bokeh.layouts import column
from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    HoverTool,
    NumeralTickFormatter,
)
from bokeh.models.annotations import Span
from bokeh.plotting import figure

from dask_blackbox.events import SchedulerLoad
from dask_blackbox.formatting import plain
from dask_blackbox.report.axis import Axis
from dask_blackbox.report.profile_tree import INTERVAL, ProfileNode
from dask_blackbox.report.system_series import summed_metrics
from dask_blackbox.report.workers import WorkerProcess
from dask_blackbox.run_tables import RunTables

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

"""`performance_report.html`: the report that Dask users know, rebuilt from the recording.

Built after the run and elsewhere, so the scheduler never pauses for it; holds all tasks,
those that killed their workers included; and opens without a network, for Bokeh is in it.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import polars as pl
from bokeh.embed import file_html
from bokeh.layouts import column
from bokeh.models import (
    AdaptiveTicker,
    BoxZoomTool,
    ColumnDataSource,
    DatetimeTickFormatter,
    FactorRange,
    FixedTicker,
    HoverTool,
    NumeralTickFormatter,
    PanTool,
    ResetTool,
    TabPanel,
    Tabs,
    WheelZoomTool,
)
from bokeh.models.annotations import Span
from bokeh.models.widgets import Div
from bokeh.palettes import Category20_20
from bokeh.plotting import figure
from bokeh.resources import Resources
from bokeh.transform import linear_cmap
from markupsafe import Markup, escape

from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.analyse.run_state import seconds_of
from dask_blackbox.card_data import CardData
from dask_blackbox.events import DriverAttached, SchedulerInfo, SchedulerLoad
from dask_blackbox.formatting import (
    clock,
    count,
    counted,
    duration,
    exact_size,
    moment,
    plain,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.report.axis import Axis, axis_of
from dask_blackbox.report.curves import summed_metrics
from dask_blackbox.report.profile_tree import (
    INTERVAL,
    drawable,
    merged_profile,
    seen_at_least,
)
from dask_blackbox.report.wording import STATE_SIGN
from dask_blackbox.report.workers import WorkerProcess, worker_processes
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables.schemas import Row

_MOST_BARS = 40
_NO_POLICY_YET = "dask-blackbox-policy"

_PAGE = (
    "{% block preamble %}"
    f'<meta http-equiv="Content-Security-Policy" content="{_NO_POLICY_YET}">'
    '<meta name="referrer" content="no-referrer">{% endblock %}'
)

_SCRIPT = bounded(r"<script([^>]{0,})>(.{0,}?)</script>", re.DOTALL)


def performance_html(run: RunTables, card: CardData) -> str:
    """Return the performance report of a run, as one page with Bokeh in it."""
    axis = axis_of(run)
    processes = worker_processes(run)
    executions = executions_of(run)
    tabs = [
        ("Summary", _text(_summary_markup(run, card, axis, processes, executions))),
        (
            "Task Stream",
            stream_figure(executions, processes) if executions.height else None,
        ),
        ("System", system_figures(run.metrics, axis, processes)),
        ("Scheduler Logs", _text(log_markup(run.logs, ("scheduler",)))),
        ("Worker Profile (compute)", _flame_graph(run, "compute")),
        ("Worker Profile (administrative)", _flame_graph(run, "workers")),
        ("Scheduler Profile (administrative)", _flame_graph(run, "scheduler")),
        (
            "Bandwidth (Workers)",
            bandwidth_by_worker(run, processes) or _transfer_by_worker(run, processes),
        ),
        ("Bandwidth (Types)", bandwidth_by_type(run) or _bytes_by_type(run)),
        ("Worker Logs", _text(log_markup(run.logs, ("worker", "nanny")))),
        ("Driver Logs", _text(log_markup(run.logs, ("driver",)))),
    ]
    panels = [
        TabPanel(title=title, child=child or _text(Markup("<p>Nothing recorded.</p>")))
        for title, child in tabs
    ]
    title = f"Performance: {plain(card.job)} · {plain(card.run_id)}"
    made: str = file_html(
        Tabs(tabs=panels, sizing_mode="stretch_both"),
        Resources(mode="inline"),
        title=title,
        template=_PAGE,
        suppress_callback_warning=True,
    )
    page = _with_same_ids(made)
    return page.replace(_NO_POLICY_YET, _policy(page), 1)


def _policy(page: str) -> str:
    """Allow only the scripts of this page, and no network access."""
    digests = [
        base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        for attributes, body in _SCRIPT.findall(page)
        if "json" not in attributes
    ]
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _text(markup: Markup) -> Any:
    return Div(
        text=str(markup),
        sizing_mode="stretch_both",
        styles={"overflow": "auto", "padding": "8px 16px"},
    )


def _flame_graph(run: RunTables, of: str) -> object | None:
    """Return Dask's flame graph of a kind of threads, and what it leaves out."""
    tree = merged_profile(run, of=of)
    if tree is None:
        return None
    drawn, unseen = drawable(tree)
    are = "is" if unseen == 1 else "are"
    left_out = [f"{counted(unseen, 'frame')} {are} too small to draw"] * bool(unseen)
    if (least := seen_at_least(run)) > 1:
        left_out.append(f"not all frames seen fewer than {least} times are shown")

    def make() -> object:
        from distributed.profile import plot_data, plot_figure

        plot, _ = plot_figure(plot_data(drawn, profile_interval=INTERVAL), **_STRETCHED)
        plot.title.text = "; ".join(left_out)
        return plot

    return _made(make)


def _transfer_by_worker(
    run: RunTables, processes: list[WorkerProcess]
) -> object | None:
    labels = {process.address: process.label for process in processes}
    table = (
        run.tasks.group_by("worker", maintain_order=True)
        .agg(pl.col("transfer").sum())
        .filter(pl.col("transfer") > 0)
        .sort("transfer", descending=True)
    )
    rows = [
        (labels.get(worker, str(worker)), value, duration(value))
        for worker, value in table.head(_MOST_BARS).iter_rows()
    ]
    return _bars("Seconds that tasks waited for transfers, by worker", rows, table)


def _bytes_by_type(run: RunTables) -> object | None:
    table = (
        run.tasks.filter(pl.col("nbytes") > 0)
        .group_by(pl.col("typename").fill_null("unknown"), maintain_order=True)
        .agg(pl.col("nbytes").sum())
        .sort("nbytes", descending=True)
    )
    rows = [
        (plain(typename), value, exact_size(value))
        for typename, value in table.head(_MOST_BARS).iter_rows()
    ]
    return _bars("Bytes of results, by their type", rows, table)


def _bars(
    title: str, rows: list[tuple[str, float, str]], table: pl.DataFrame
) -> Any | None:
    if not rows:
        return None
    if table.height > len(rows):
        title += f" (the first {count(len(rows))} of {count(table.height)})"
    names = [f"{name} ({text})" for name, _, text in rows]
    plot: Any = figure(
        title=title,
        y_range=FactorRange(factors=list(dict.fromkeys(reversed(names)))),
        tools="reset,xpan,xwheel_zoom",
        sizing_mode="stretch_both",
    )
    plot.hbar(
        y=names, right=[value for _, value, _ in rows], height=min(0.7, len(rows) / 12)
    )
    plot.x_range.start = 0
    plot.xaxis.visible = False
    return plot


_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


# Only where Bokeh puts them: what users have recorded stands in JSON, quotes escaped.
_RANDOM = bounded(
    rf'(?:"docid":"|"roots":\{{"p\d+":"|<script type="application/json" id=")({_UUID})"'
)

_COUNTED = bounded(r'("id":"p|"root_ids":\["p|"roots":\{"p|data-root-id="p)(\d+)(?=")')

_FIRST = 1001


def _with_same_ids(page: str) -> str:
    """Return a page of Bokeh with ids that depend on nothing but the page."""
    for number, name in enumerate(dict.fromkeys(_RANDOM.findall(page))):
        page = page.replace(name, f"00000000-0000-4000-8000-{number:012x}")
    counted = [int(number) for _, number in _COUNTED.findall(page)]
    less = min(counted, default=_FIRST) - _FIRST
    return _COUNTED.sub(lambda found: f"{found[1]}{int(found[2]) - less}", page)


_MOST_LINES = 2_000
_LONGEST = 4_000
_WARNING = 30
_ERROR = 40


def _summary_markup(
    run: RunTables,
    card: CardData,
    axis: Axis,
    processes: list[WorkerProcess],
    executions: pl.DataFrame,
) -> Markup:
    """Return the first tab: what ran, for how long, on what; and the verdict."""
    parts = [
        Markup("<h1>Dask Performance Report</h1>"),
        Markup("<p><i>Select the tabs above for additional information</i></p>"),
        Markup("<h2>{} {}: {}</h2>").format(
            STATE_SIGN[card.state], card.state, plain(card.headline)
        ),
        Markup("<p>{} · {} · attempt {} · {}</p>").format(
            plain(card.job), plain(card.run_id), card.attempt, moment(axis.start)
        ),
        Markup("<h2>Duration: {}</h2>").format(duration(seconds_of(run))),
        Markup("<h2>Tasks Information</h2>"),
        _list(_tasks(executions)),
        Markup("<h2>Scheduler Information</h2>"),
        _list(_cluster(run, processes)),
        Markup("<h2>Calling Code</h2>"),
        _list(_calling(run)),
    ]
    return Markup("\n").join(parts)


def _tasks(tasks: pl.DataFrame) -> list[str]:
    outcomes = dict(tasks["outcome"].value_counts().iter_rows())
    parts = [f"number of task executions: {count(tasks.height)}"]
    parts += [
        f"{word}: {count(outcomes[word])}"
        for word in ("finished", "erred", "retried", "killed")
        if outcomes.get(word)
    ]
    for part in ("compute", "transfer", "disk", "deserialize"):
        total = float(tasks[part].sum() or 0)
        if total:
            parts.append(f"{part} time: {duration(total)}")
    return parts


def _cluster(run: RunTables, processes: list[WorkerProcess]) -> list[str]:
    scheduler = next(iter(run.of(SchedulerInfo)[-1:]), SchedulerInfo())
    threads = sum(
        process.nthreads or 0 for process in processes if process.left is None
    )
    memory = sum(process.limit or 0 for process in processes if process.left is None)
    died = sum(process.fate == "died" for process in processes)
    return [
        f"Address: {plain(scheduler.subject or 'unknown')}",
        f"Workers seen: {count(len(processes))}"
        + (f", {count(died)} died" if died else ""),
        f"Threads at the end: {count(threads)}",
        f"Memory at the end: {exact_size(memory)}",
        f"Dask Version: {plain(scheduler.dask or 'unknown')}",
        f"Dask.Distributed Version: {plain(scheduler.distributed or 'unknown')}",
    ]


def _calling(run: RunTables) -> list[str]:
    # Further events are of clients that the driver connected.
    driver = next((each for each in run.of(DriverAttached) if each.argv), None)
    if driver is None:
        return ["not known"]
    called = driver.callable
    values = {
        "callable": called and f"{called.module}.{called.name}",
        "argv": " ".join(driver.argv),
        "cwd": driver.cwd,
    }
    return [f"{name}: {plain(value)}" for name, value in values.items() if value]


def _list(items: list[str]) -> Markup:
    rows = Markup("").join(Markup("<li>{}</li>").format(item) for item in items)
    return Markup("<ul>{}</ul>").format(rows)


def log_markup(logs: pl.DataFrame, roles: tuple[str, ...]) -> Markup:
    """Return the log lines of some roles: all, or the last of them and all errors."""
    own = logs.filter(pl.col("role").is_in(roles)).sort("at", maintain_order=True)
    if own.height == 0:
        return Markup("<p>No log line was recorded.</p>")
    text = counted(own.height, "log line")
    shown = own
    if own.height > _MOST_LINES:
        numbered = own.with_row_index("row")
        grave = numbered.filter(pl.col("level") >= _ERROR).tail(_MOST_LINES // 2)
        rest = numbered.tail(_MOST_LINES - grave.height)
        shown = pl.concat([grave, rest]).unique("row").sort("row")
        text = (
            f"showing {count(shown.height)} of {text}: the newest, and the last "
            f"{count(grave.height)} errors"
        )
    lines = Markup("\n").join(_line(row) for row in shown.iter_rows(named=True))
    return Markup("<p>{}</p><pre>{}</pre>").format(text, lines)


def _line(row: Row) -> Markup:
    at = clock(row["at"].timestamp()) if row["at"] else ""
    message = plain(row["message"] or "")
    if len(message) > _LONGEST:
        gone = len(message) - _LONGEST
        message = f"{message[:_LONGEST]} … {count(gone)} more characters"
    text = escape(
        f"{at}  {plain(row['source'] or '')}  {plain(row['logger'] or '')}  {message}"
    )
    level = row["level"] or 0
    if level >= _ERROR:
        return Markup('<b style="color:#b42318">{}</b>').format(text)
    if level >= _WARNING:
        return Markup('<span style="color:#8a5a00">{}</span>').format(text)
    return text


_MOST_FIGURE_BARS = 100_000
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
    bars, lanes = _figure_bars(placed), _lanes(placed)
    shown = bars
    if bars.height > _MOST_FIGURE_BARS:
        shown = pl.concat(
            [
                bars.filter("grave").head(_MOST_FIGURE_BARS // 2),
                bars.filter(~pl.col("grave")).top_k(_MOST_FIGURE_BARS, by="seconds"),
            ]
        ).head(_MOST_FIGURE_BARS)
    text = f"{counted(placed.height, 'task execution')}, {counted(bars.height, 'bar')}"
    if shown.height < bars.height:
        text += f"; showing the {count(shown.height)} longest, and what failed"
    shown = shown.join(lanes, on=["worker", "thread"], how="left", nulls_equal=True)
    return _figure(shown, lanes, processes, text)


def _figure_bars(tasks: pl.DataFrame) -> pl.DataFrame:
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
_STRETCHED = {"sizing_mode": "stretch_both"}
_Made = TypeVar("_Made")


def _made(make: Callable[[], _Made]) -> _Made | None:
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - another version of Dask
        logger.info("one of Dask's figures could not be made: %r", error)
        return None


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

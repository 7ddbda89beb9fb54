"""`performance_report.html`: the report that Dask users know, rebuilt from the recording.

Built after the run and elsewhere, so the scheduler never pauses for it; holds all tasks,
those that killed their workers included; and opens without a network, for Bokeh is in it.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from typing import Any

import polars as pl
from bokeh.embed import file_html
from bokeh.models import ColumnDataSource, FactorRange, HoverTool, TabPanel, Tabs
from bokeh.models.widgets import Div
from bokeh.palettes import Category20_20
from bokeh.plotting import figure
from bokeh.resources import Resources
from markupsafe import Markup, escape

from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.analyse.run_state import seconds_of
from dask_blackbox.card import RunCard
from dask_blackbox.events import DriverAttached, SchedulerInfo
from dask_blackbox.formatting import (
    clock,
    count,
    counted,
    duration,
    exact_size,
    moment,
    plain,
)
from dask_blackbox.report.axis import Axis, axis_of
from dask_blackbox.report.performance_figures import (
    bandwidth_by_type,
    bandwidth_by_worker,
    profile_figure,
    stream_figure,
    system_figures,
)
from dask_blackbox.report.profile_tree import flames_of, merged_profile, seen_at_least
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

_SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script>", re.DOTALL)

_FLAME_TOOLTIP = """
<div><b>@name</b> @time (@share{0.0%})</div><div>@filename:@line_number</div><div>@line</div>
"""


def performance_html(run: RunTables, card: RunCard) -> str:
    """Return the performance report of a run, as one page with Bokeh in it."""
    axis = axis_of(run)
    processes = worker_processes(run)
    executions = executions_of(run)
    tabs = [
        ("Summary", _text(_summary_markup(run, card, axis, processes, executions))),
        ("Task Stream", _stream(executions, processes)),
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


def _stream(executions: pl.DataFrame, processes: list[WorkerProcess]) -> object | None:
    return stream_figure(executions, processes) if executions.height else None


def _flame_graph(run: RunTables, of: str) -> object | None:
    tree = merged_profile(run, of=of)
    if tree is None:
        return None
    if seen_at_least(run) == 1 and (figure_of_dask := profile_figure(tree)) is not None:
        return figure_of_dask
    flames, unseen = flames_of(tree)
    left_out = f"; {count(unseen)} too small to draw" if unseen else ""
    if (least := seen_at_least(run)) > 1:
        left_out += f"; not all frames seen fewer than {least} times are shown"
    plot = figure(
        title=(
            f"What the workers' threads executed, {duration(flames[0].seconds)} in "
            f"total{left_out}"
        ),
        tools="pan,box_zoom,xwheel_zoom,reset",
        sizing_mode="stretch_both",
    )
    source = ColumnDataSource(
        {
            "left": [flame.left for flame in flames],
            "right": [flame.right for flame in flames],
            "bottom": [flame.depth for flame in flames],
            "top": [flame.depth + 1 for flame in flames],
            "colour": [_colour(flame.filename) for flame in flames],
            "name": [flame.name for flame in flames],
            "filename": [flame.filename for flame in flames],
            "line_number": [flame.line_number for flame in flames],
            "line": [flame.line for flame in flames],
            "time": [duration(flame.seconds) for flame in flames],
            "share": [flame.right - flame.left for flame in flames],
        }
    )
    plot.quad(
        "left", "right", "top", "bottom", fill_color="colour", line_color="white",
        source=source,
    )  # fmt: skip
    plot.add_tools(HoverTool(point_policy="follow_mouse", tooltips=_FLAME_TOOLTIP))
    plot.xaxis.visible = plot.yaxis.visible = plot.grid.visible = False
    return plot


def _colour(filename: str) -> str:
    # Python's own hash differs from process to process.
    return Category20_20[zlib.crc32(filename.encode()) % len(Category20_20)]


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
_RANDOM = re.compile(
    rf'(?:"docid":"|"roots":\{{"p\d+":"|<script type="application/json" id=")({_UUID})"'
)

_COUNTED = re.compile(
    r'("id":"p|"root_ids":\["p|"roots":\{"p|data-root-id="p)(\d+)(?=")'
)

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
    card: RunCard,
    axis: Axis,
    processes: list[WorkerProcess],
    executions: pl.DataFrame,
) -> Markup:
    """Return the first tab: what ran, for how long, on what; and the verdict."""
    ended = run.ending.ended if run.ending else axis.stop
    took = seconds_of(run) if run.ending else ended - run.manifest.started
    parts = [
        Markup("<h1>Dask Performance Report</h1>"),
        Markup("<p><i>Select the tabs above for additional information</i></p>"),
        Markup("<h2>{} {}: {}</h2>").format(
            STATE_SIGN[card.state], card.state, plain(card.headline)
        ),
        Markup("<p>{} · {} · attempt {} · {}</p>").format(
            plain(card.job), plain(card.run_id), card.attempt, moment(axis.start)
        ),
        Markup("<h2>Duration: {}</h2>").format(duration(took)),
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
    for column in ("compute", "transfer", "disk", "deserialize"):
        total = float(tasks[column].sum() or 0)
        if total:
            parts.append(f"{column} time: {duration(total)}")
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

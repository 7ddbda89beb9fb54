"""`report.html`: one self-contained page, verdict first, then what happened.

Everything a reader needs is in the HTML itself; script only draws the time axis,
sorts and filters.  The content security policy lets exactly our own script and style
run, by their digests, and nothing be fetched.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl
from markupsafe import Markup

from dask_blackbox.analyse.completeness import missing_from
from dask_blackbox.analyse.core_seconds import phases_of, time_bar_of
from dask_blackbox.analyse.facts.critical_path import last_inputs_of
from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.card_data import CardData
from dask_blackbox.events import GraphUpdated, SchedulerLoad
from dask_blackbox.formatting import (
    BIDIRECTIONAL,
    command,
    count,
    counted,
    duration,
    exact_size,
    moment,
    plain,
    prefix_of,
    run_argument,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.report.axis import Axis, axis_of
from dask_blackbox.report.curves import curves_of, series_of
from dask_blackbox.report.environment import environment_of
from dask_blackbox.report.log_lines import LogLine, loglines_of
from dask_blackbox.report.page_assets import TEMPLATES, asset, policy
from dask_blackbox.report.page_templates import template
from dask_blackbox.report.picture import picture_png
from dask_blackbox.report.prefix_graph import prefix_graph_of, prefix_rows
from dask_blackbox.report.profile_tree import flames_for_page
from dask_blackbox.report.timeline import marks_of, packed_marks, timeline_of
from dask_blackbox.report.wording import kept_links, missing_data
from dask_blackbox.report.workers import WorkerProcess, worker_processes
from dask_blackbox.run_tables import RunTables

_TURNING = bounded(f"[{BIDIRECTIONAL}]")
_MOST_ROWS = 300
_PRINTED_DEATHS, _PRINTED_LINES = 2, 30
_ON_DEMAND = "dask-blackbox:on-demand"
_HEAD = 500


def html(run: RunTables, card: CardData, *, logs_limit: int = 2000) -> str:
    """Return the report of a run.

    Args:
        run: What was recorded; may be empty or incomplete.
        logs_limit: How many log lines the page may hold; it says which it holds.
    """
    axis = axis_of(run)
    processes = worker_processes(run)
    executions = executions_of(run)
    logs = loglines_of(run, processes, limit=logs_limit)
    named = {line.key for line in logs.lines if line.key}
    drawn = {
        "start": axis.start,
        "length": axis.length,
        "timeline": timeline_of(
            executions, axis, processes, named, last_inputs_of(run)
        ),
        "curves": curves_of(run, axis, processes),
        "marks": packed_marks(marks_of(run, axis, processes)),
        "processes": [_worker_row(process, axis) for process in processes],
        "series": series_of(run, axis),
        "flames": flames_for_page(run, axis),
    }
    dead = [process for process in processes if process.fate == "died"]
    dead.sort(key=lambda process: process.left or 0.0)
    alive = [process for process in processes if process.fate != "died"]
    prefixes = prefix_rows(executions)
    page = template("report.html")
    script = script_of(TEMPLATES)
    return page.render(
        card=card,
        run=run,
        axis=axis,
        drawn=drawn,
        data=_embedded(drawn),
        processes=[*dead, *alive][: max(_MOST_ROWS, len(dead))],
        processes_total=len(processes),
        labels={process.address: process.label for process in processes},
        dead=dead,
        death_groups=death_groups(dead),
        logs=logs,
        prefixes=prefixes,
        graph=prefix_graph_of(run, prefixes),
        bandwidth=_bandwidth_of(run, processes),
        time_bar=time_bar_of(run),
        phases=phases_of(run),
        spans=run.spans.rows(named=True),
        failures=failure_groups(run),
        links=kept_links(card.links),
        paper=_paper(run, card, logs.lines, dead),
        graphs=run.of(GraphUpdated),
        environment=environment_of(run),
        completeness=_completeness_section(run, card),
        script=Markup(script),  # noqa: S704 - our own file
        style=Markup(asset("report.css")),  # noqa: S704
        policy=policy(script, asset("report.css")),
        most=_MOST_ROWS,
    )


def on_demand_html(run: RunTables, card: CardData) -> str:
    """Return the page that stands where a performance report was not made: how to make it."""
    reported = run.manifest
    name = run_argument(run.url, reported.job, reported.run_id, reported.attempt)
    style = asset("report.css")
    return template("on_demand.html").render(
        card=card,
        command=command("report", "--performance", name),
        mark=_ON_DEMAND,
        style=Markup(style),  # noqa: S704
        policy=policy("", style),
    )


def is_on_demand(page: bytes) -> bool:
    """Return whether a stored page only says how its report is made."""
    return _ON_DEMAND.encode() in page[:_HEAD]


class _Paper(msgspec.Struct):
    """What is printed of the charts and the logs: a picture, and numbers of lines."""

    image: str
    lines: set[int]


def _paper(
    run: RunTables, card: CardData, lines: list[LogLine], dead: list[WorkerProcess]
) -> _Paper:
    """Return the picture as a `data:` address, and the lines before the first deaths."""
    moments = [process.left for process in dead if process.left][:_PRINTED_DEATHS]
    chosen: set[int] = set()
    for left in moments or [float("inf")]:
        before = [place for place, line in enumerate(lines) if line.at <= left + 1]
        chosen.update(before[-_PRINTED_LINES:])
    if not (executions_of(run).height or dead):
        return _Paper("", chosen)
    image = base64.b64encode(picture_png(run, card)).decode()
    return _Paper(f"data:image/png;base64,{image}", chosen)


def _worker_row(process: WorkerProcess, axis: Axis) -> dict[str, object]:
    return {
        "address": process.address,
        "label": plain(process.label),
        "joined": None
        if process.joined is None
        else round((process.joined - axis.start) * 1e3),
        "left": None
        if process.left is None
        else round((process.left - axis.start) * 1e3),
        "fate": process.fate,
        "how": plain(process.how),
        "peak": process.peak,
        "nthreads": process.nthreads,
        "host": plain(process.host),
    }


def _embedded(value: object) -> Markup:
    """Return a value as JSON: it can neither end its `<script>` element nor turn text around."""
    text = _TURNING.sub(
        "\N{REPLACEMENT CHARACTER}", msgspec.json.encode(value).decode()
    )
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704


class DeathGroup(NamedTuple):
    """Workers that died in the same way: the first of them, and the others."""

    first: WorkerProcess
    others: list[WorkerProcess]


def death_groups(dead: list[WorkerProcess]) -> list[DeathGroup]:
    """Return the deaths in order, grouped by kind."""
    groups: dict[tuple[object, ...], DeathGroup] = {}
    for process in dead:
        alike = _alike(process)
        if alike in groups:
            groups[alike].others.append(process)
        else:
            groups[alike] = DeathGroup(process, [])
    return [*groups.values()]


def _alike(process: WorkerProcess) -> tuple[object, ...]:
    death = process.death
    running = tuple(sorted({prefix_of(key) for key, _ in process.running}))
    if death is None:
        return (process.fate, running)
    return (
        death.exit_code,
        death.restarted_for_memory is not None,
        bool(death.oom_kills),
        death.frozen_for is not None,
        death.closing,
        death.has_report,
        running,
    )


_MOST, _WIDEST, _PAIRS = 40, 480, 50


class Cell(NamedTuple):
    """A pair of workers: its place, how dark it is, and what it says."""

    row: int
    column: int
    share: float
    summary: str


class Bandwidth(NamedTuple):
    """The map, and the fastest pairs as (from, to, bytes per second)."""

    names: list[str]
    step: int
    cells: list[Cell]
    pairs: list[tuple[str, str, float]]
    left_out: int

    @property
    def width(self) -> int:
        """Pixels that the map is wide."""
        return self.step * len(self.names)


def _bandwidth_of(run: RunTables, processes: list[WorkerProcess]) -> Bandwidth:
    """Return what the scheduler reported last; empty where nothing was moved."""
    loads = [each for each in run.of(SchedulerLoad) if each.bandwidth]
    if not loads:
        return Bandwidth([], 0, [], [], 0)
    labels = {process.address: plain(process.label) for process in processes}
    # Dask names who received first.
    pairs = [
        (labels.get(source, plain(source)), labels.get(to, plain(to)), speed)
        for to, source, speed in loads[-1].bandwidth
    ]
    pairs.sort(key=lambda each: -each[2])
    moved: dict[str, float] = {}
    for source, to, speed in pairs:
        for name in (source, to):
            moved[name] = moved.get(name, 0.0) + speed
    names = sorted(sorted(moved, key=lambda name: -moved[name])[:_MOST])
    places = {name: place for place, name in enumerate(names)}
    most = pairs[0][2] or 1.0
    cells = [
        Cell(
            places[source], places[to], round(0.12 + 0.88 * speed / most, 3),
            f"{source} to {to}: {exact_size(speed)} per second",
        )
        for source, to, speed in pairs
        if source in places and to in places
    ]  # fmt: skip
    step = max(10, min(34, _WIDEST // len(names)))
    return Bandwidth(names, step, cells, pairs[:_PAIRS], len(moved) - len(names))


MODULES = (
    "unpack", "run", "view", "period", "chart", "waits", "rows", "overview", "curves", "pane", "tables", "flames", "main",
)  # fmt: skip
"""The modules, each after those that it imports; the last one waits for what it unpacks."""

_IMPORT = bounded(r"^import .{0,};\n", re.MULTILINE)
_EXPORT = bounded(
    r"^export (?P<kind>const|function|async function|class) "
    r"(?P<names>\{[^}]*\}|\w+)",
    re.MULTILINE,
)


@cache
def script_of(folder: Path) -> str:
    """Return the script that the modules of a folder make."""
    parts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in MODULES]
    return "\n".join([*map(_scoped, parts[:-1]), _IMPORT.sub("", parts[-1])])


def _scoped(module: str) -> str:
    body = _IMPORT.sub("", module)
    exported = [
        name.strip()
        for found in _EXPORT.finditer(body)
        for name in found["names"].strip("{} ").split(",")
    ]
    body = _EXPORT.sub(r"\g<kind> \g<names>", body)
    names = ", ".join(exported)
    return f"const {{ {names} }} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();\n"


class CompletenessSection(NamedTuple):
    """What the recording holds and what it lacks.

    Attributes:
        recorded: Whether there is a recording.
        sentences: What is missing; none if nothing is.
        sources: (source, what came from it).
        rows: (table, number of rows).
    """

    recorded: bool
    sentences: list[str]
    sources: list[tuple[str, str]]
    rows: list[tuple[str, str]]


def _completeness_section(run: RunTables, card: CardData) -> CompletenessSection:
    """Return the account of a recording, by the card where it says, else by the tables."""
    recorded = bool(card.completeness.get("recorded", True))
    sentences = missing_data(card)
    if recorded and "missing" not in card.completeness and card.state != "running":
        sentences += [
            plain(f"{source}: {sentence}")
            for source, missing in missing_from(run).items()
            for sentence in missing
        ]
    if recorded and run.ending is None and run.last_heartbeat is not None:
        sentences.append(f"Its recorder was last seen at {moment(run.last_heartbeat)}")
    sources = []
    if run.ending is not None:
        sources = [
            (plain(name), _received(account.batches, account.first, account.last))
            for name, account in sorted(run.ending.sources.items())
        ]
    tables = {
        "task executions": executions_of(run),
        "errors": run.errors,
        "log lines": run.logs,
        "metric samples": run.metrics,
        "events": run.events,
    }
    rows = [(name, count(table.height)) for name, table in tables.items()]
    if run.ending is not None and run.ending.store_behind >= 1:
        rows.append(("store behind, at the worst", duration(run.ending.store_behind)))
    return CompletenessSection(recorded, list(dict.fromkeys(sentences)), sources, rows)


def _received(batches: int, first: int | None, last: int | None) -> str:
    text = counted(batches, "batch", "batches")
    return text if first is None or last is None else f"{text}, {first} to {last}"


_MOST_ATTEMPTS = 20
_LONGEST = 12_000
_DIGITS = r"0x[0-9a-fA-F]+|\d+"


class Attempt(NamedTuple):
    """One execution that failed; `at` in epoch seconds."""

    at: float
    key: str
    worker: str
    outcome: str


class FailureGroup(NamedTuple):
    """Failures with the same exception in the same prefix that differ in numbers only.

    Attributes:
        outcomes: How many of them ended how (`erred`, `retried`, `killed`).
        attempts: The first of them.
        omitted: How many more there are.
    """

    exception: str
    message: str
    prefix: str
    traceback: str
    cause: str
    outcomes: dict[str, int]
    first: float
    last: float
    attempts: list[Attempt]
    omitted: int


def failure_groups(run: RunTables) -> list[FailureGroup]:
    """Return the groups, those that ended tasks permanently first, then by time."""
    if run.errors.height == 0:
        return []
    alike = run.errors.with_columns(
        pl.col("exception").fill_null(""),
        pl.col("message").fill_null(""),
        (pl.col("at").dt.epoch("us") / 1e6).fill_null(0.0).alias("at"),
    ).with_columns(
        # What one failure inherits from another is no failure of its own.
        pl.col("cause").is_not_null().alias("inherited"),
        pl.col("message")
        .str.replace_all(_DIGITS, "#")
        .str.slice(0, 300)
        .alias("alike"),
    )
    groups = [
        _group(part.sort("at"))
        for _, part in alike.group_by(
            "exception", "prefix", "alike", "inherited", maintain_order=True
        )
    ]
    return sorted(
        groups,
        key=lambda group: (
            "erred" not in group.outcomes,
            bool(group.cause),
            group.first,
        ),
    )


def _group(part: pl.DataFrame) -> FailureGroup:
    first = part.row(0, named=True)
    outcomes = part["outcome"].value_counts(sort=True)
    attempts = part.head(_MOST_ATTEMPTS).select("at", "key", "worker", "outcome")
    traceback = plain(first["traceback"] or "")
    if len(traceback) > _LONGEST:
        half = _LONGEST // 2
        gone = len(traceback) - 2 * half
        traceback = f"{traceback[:half]}\n… {gone} characters …\n{traceback[-half:]}"
    return FailureGroup(
        exception=plain(first["exception"]),
        message=plain(first["message"]),
        prefix=plain(first["prefix"] or ""),
        traceback=traceback,
        cause=plain(first["cause"] or ""),
        outcomes={str(word): number for word, number in outcomes.iter_rows()},
        first=first["at"],
        last=float(str(part["at"].max())),
        attempts=[_attempt(row) for row in attempts.iter_rows()],
        omitted=max(0, part.height - _MOST_ATTEMPTS),
    )


def _attempt(row: tuple[Any, ...]) -> Attempt:
    at, *texts = row
    return Attempt(at, *(plain(text or "") for text in texts))

"""The HTML pages: the list of runs, a run's card, its logs and its files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from dask_blackbox import formatting
from dask_blackbox.analyse.cluster_sizes import cluster_sizes_of
from dask_blackbox.analyse.rules import RULES
from dask_blackbox.errors import BlackboxError, ConfigurationError, RecordingError
from dask_blackbox.formatting import command, plain
from dask_blackbox.job_history import JobHistory, PastRun
from dask_blackbox.layout import safe
from dask_blackbox.reader import Run, RunEntry, find_run, marked_runs
from dask_blackbox.reader.comparison import compare_runs, comparison_of
from dask_blackbox.reader.earlier_runs import read_sketches, sketched_runs
from dask_blackbox.reader.job_histories import job_history
from dask_blackbox.reader.jobs_overview import JobsOverview, jobs_overview
from dask_blackbox.reader.unreadable import reading
from dask_blackbox.report import wording
from dask_blackbox.report.cluster_sizes import ASSUMED, size_rows, size_summary
from dask_blackbox.report.costs import costs_of, last_costs
from dask_blackbox.report.log_lines import LogQuery, chosen_lines
from dask_blackbox.report.profile_tree import INTERVAL, ProfileNode, merged_profile
from dask_blackbox.serve.cards import Cards, with_notes
from dask_blackbox.serve.run_list import CHOICES, page_of_runs, runs_found, states_of
from dask_blackbox.serve.templating import (
    RUN_PATH,
    Address,
    LogForm,
    LogsForm,
    SearchForm,
    Templates,
)
from dask_blackbox.sketch import Sketch
from dask_blackbox.store import Store

_RUNS_ON_A_PAGE = 50
_RUNS_OF_A_JOB = 200
_MOST_LINES = 1000
_VERDICTS = sorted(rule.slug for rule in RULES)
_OURS = {"report", "performance_report", "recording", "logs", "card"}


class Pages:
    """The pages, each a method.

    Args:
        templates: What the pages are made from.
    """

    def __init__(self, store: Store, cards: Cards, templates: Templates) -> None:
        self._store = store
        self._cards = cards
        self._answer = templates.answer

    def routes(self) -> APIRouter:
        """Return where each page is found."""
        routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
        for path, page in (
            ("/", self.list),
            ("/jobs/{job}", self.job),
            ("/compare", self.compare),
            ("/logs", self.all_logs),
            (RUN_PATH, self.card),
            (f"{RUN_PATH}/logs", self.logs),
            (f"{RUN_PATH}/files", self.files),
            (f"{RUN_PATH}/sizes", self.sizes),
        ):
            routes.add_api_route(path, page)
        return routes

    def list(
        self, request: Request, query: Annotated[SearchForm, Query()]
    ) -> HTMLResponse:
        """Show the jobs and the newest runs, or the runs that are looked for."""
        asked = {
            name: word
            for name, word in query.model_dump(exclude={"limit", "after"}).items()
            if word
        }
        overview = None if asked or query.after else jobs_overview(self._store)
        shared: dict[str, Any] = {
            "store_url": self._store.url,
            "command": f"{command('run', store=self._store.url)} -- python job.py",
            "query": query,
            "asked": asked,
            "states": [*CHOICES],
            "verdicts": _VERDICTS,
            "after": query.after,
            "overview": overview,
            "costs": _last_costs(overview),
        }
        if query.by_sketch:
            found = runs_found(self._store, query.asked(), size=_RUNS_ON_A_PAGE)
            older = found.older and asked | {
                "until": formatting.utc(found.older).isoformat()
            }
            return self._answer(
                request,
                "runs.html",
                runs=found.runs,
                looked_at=found.looked_at,
                older=older and urlencode(older),
                **shared,
            )
        page = page_of_runs(
            self._store,
            job=query.job.strip() or None,
            states=states_of(query.state),
            after=query.after,
            size=_RUNS_ON_A_PAGE,
        )
        return self._answer(
            request,
            "runs.html",
            runs=page.runs,
            looked_at=None,
            older=page.older and urlencode(asked | {"after": page.older}),
            **shared,
        )

    def job(self, request: Request, job: str) -> HTMLResponse:
        """Show the runs of a job over time."""
        history = job_history(self._store, job, limit=_RUNS_OF_A_JOB)
        sketches = _newest_sketches(self._store, history)
        return self._answer(
            request,
            "job.html",
            history=history,
            charts=_charts_of(history),
            changed=_changes_between_runs(history, sketches),
            costs=costs_of(
                history.job, {run: each.numbers for run, each in sketches.items()}
            ),
        )

    def compare(
        self, request: Request, before: str = "", after: str = ""
    ) -> HTMLResponse:
        """Show how two runs differ."""
        comparison = (
            compare_runs(self._store, before, after) if before and after else None
        )
        return self._answer(
            request,
            "compare.html",
            before=before,
            after=after,
            comparison=comparison,
            flames=compared_flames(self._store, before, after) if comparison else None,
        )

    def all_logs(
        self, request: Request, query: Annotated[LogsForm, Query()]
    ) -> HTMLResponse:
        """Search the logs of the newest runs."""
        asked = query.asked()
        found: LogSearch | None = None
        if any((query.filter.strip(), query.level, query.role)):
            found = _lines_of_runs(self._store, asked, job=query.job.strip() or None)
        return self._answer(request, "all_logs.html", query=query, found=found)

    def card(self, request: Request, address: Address) -> HTMLResponse:
        """Show the card of a run."""
        card = with_notes(self._cards.card(address), self._store, address)
        return self._answer(
            request,
            "run.html",
            address=address,
            card=card,
            numbers=wording.numbers(card.numbers),
            missing=wording.missing_data(card),
            links=[
                (name, url)
                for name, url in wording.ordered_links(card.links)
                if name.replace(" ", "_") not in _OURS
                and url.startswith(("http://", "https://"))
            ],
        )

    def logs(
        self,
        request: Request,
        address: Address,
        query: Annotated[LogForm, Query()],
    ) -> HTMLResponse:
        """Search the logs of a run."""
        opened = self._cards.run(address)
        try:
            lines, why_none = chosen_lines(opened, query.asked())
        except ConfigurationError as error:
            lines, why_none = opened.logs.clear(), str(error)
        return self._answer(
            request,
            "logs.html",
            address=address,
            manifest=opened.manifest,
            query=query,
            lines=lines.head(_MOST_LINES).to_dicts(),
            found=lines.height,
            why_none=why_none,
            command=command("logs", opened.url or "latest"),
        )

    def files(self, request: Request, address: Address) -> HTMLResponse:
        """List the files of a run in the store."""
        card = self._cards.card(address)  # an empty folder is no run, and says so
        folder = address.folder
        names = [name.removeprefix(folder) for name in self._store.names(folder)]
        return self._answer(
            request, "files.html", address=address, card=card, names=names
        )

    def sizes(self, request: Request, address: Address) -> HTMLResponse:
        """Show what the run would take with fewer or more workers."""
        sizes = cluster_sizes_of(self._cards.run(address))
        return self._answer(
            request,
            "sizes.html",
            address=address,
            card=self._cards.card(address),
            summary=size_summary(sizes),
            rows=size_rows(sizes, self._cards.card(address).job),
            assumed=ASSUMED,
        )


_WIDTH, _HEIGHT, _LEFT = 1000, 90, 70
_COMPARED, _TIMEOUT = 31, 3.0
_MOST_CHANGES = 3

_MEASURES = (
    ("duration", "Duration", formatting.duration),
    ("peak_memory", "Peak memory of a worker", formatting.exact_size),
    ("input_bytes", "Input", formatting.exact_size),
)


class Dot(NamedTuple):
    """A run in a chart: its place in pixels, its state, its name, and what it says."""

    x: float
    y: float
    state: str
    run: str
    text: str


class Chart(NamedTuple):
    """A measure of all runs, the oldest at the left.

    Attributes:
        heading: What is measured.
        most: The highest value of a run that succeeded, which is the height of the chart; of
            others, higher values are drawn at its edge.
        dots: The runs.
        line: The points of a polyline through them.
        values: Of the vertical axis: places in pixels with texts.
        days: Of the horizontal one: the first and the last.
        change: Since when it is on another level; empty: it is not.
    """

    heading: str
    most: str
    dots: list[Dot]
    line: str
    values: list[tuple[float, str]]
    days: list[tuple[float, str]]
    change: str = ""


class Changed(NamedTuple):
    """What was not as in the run before: where, which run, and what."""

    x: float
    run: str
    text: tuple[str, ...]


def _charts_of(history: JobHistory) -> list[Chart]:
    """Return a chart of each measure that at least two runs have."""
    runs = history.runs[::-1]
    changes = {each.name: each.change for each in history.trends}
    charts = []
    for name, heading, shown in _MEASURES:
        values = [getattr(run, name) for run in runs]
        known = [value for value in values if value is not None]
        if len(known) < 2:  # noqa: PLR2004 - one is no course
            continue
        most = _most_of(runs, values) or 1
        dots = [
            Dot(
                x,
                _y(min(value, most), most),
                run.state,
                run.run,
                f"{run.run}: {shown(value)}, {run.state}",
            )
            for x, run, value in zip(_places(runs), runs, values, strict=True)
            if value is not None
        ]
        line = " ".join(f"{dot.x:.1f},{dot.y:.1f}" for dot in dots)
        change = changes.get(name)
        said = "" if change is None else wording.lasting_text(name, change)
        ticks = [(_y(each, most), shown(each)) for each in (most, most / 2, 0)]
        charts.append(
            Chart(heading, shown(most), dots, line, ticks, _days_of(runs), said)
        )
    return charts


def _most_of(runs: tuple[PastRun, ...], values: Sequence[float | None]) -> float:
    """Return the highest value of a run that succeeded; of any, if none did.

    A run that was stopped after a day would press all others to the ground.
    """
    known = [(r.state, v) for r, v in zip(runs, values, strict=True) if v is not None]
    good = [value for state, value in known if state == "succeeded"]
    return max(good or [value for _, value in known])


def _days_of(runs: tuple[PastRun, ...]) -> list[tuple[float, str]]:
    """Return the places of the first and the last run, with their days."""
    days = [
        (x, formatting.day(run.started))
        for x, run in zip(_places(runs), runs, strict=True)
    ]
    return [days[0], days[-1]]


def _y(value: float, most: float) -> float:
    return round(_HEIGHT - 8 - value / most * (_HEIGHT - 20), 1)


def _places(runs: tuple[PastRun, ...]) -> list[float]:
    step = (_WIDTH - _LEFT - 20) / max(1, len(runs) - 1)
    return [round(_LEFT + 10 + place * step, 1) for place in range(len(runs))]


def _last_costs(overview: JobsOverview | None) -> dict[str, tuple[str, str]]:
    """Return what the last run of each job cost, and usually costs if it succeeds."""
    return last_costs(
        {
            job.job: [
                (run.thread_seconds, run.memory_gib_seconds)
                for number, run in enumerate(job.outcomes)
                if number == 0 or run.state == "succeeded"
            ]
            for job in (overview.jobs if overview is not None else ())
        }
    )


def _newest_sketches(store: Store, history: JobHistory) -> dict[str, Sketch]:
    """Return the sketches of the newest runs, by run, as far as they can be read in time.

    Raises:
        StoreError: if the store cannot be read.
    """
    wanted = {run.run for run in history.runs[:_COMPARED]}
    names = [
        each
        for each in sketched_runs(store, safe(history.job))
        if each.address.name in wanted
    ][: 2 * _COMPARED]
    found = read_sketches(store, names, timeout=_TIMEOUT)
    read = {each.address.name: found.get(each.name) for each in names}
    return {run: sketch for run, sketch in read.items() if sketch is not None}


def _changes_between_runs(
    history: JobHistory, sketches: Mapping[str, Sketch]
) -> list[Changed]:
    """Return what changed from each run to the next, of the newest runs; newest first."""
    places = dict(
        zip((run.run for run in history.runs[::-1]), _places(history.runs), strict=True)
    )
    found = []
    for after, before in pairwise(history.runs[:_COMPARED]):
        old, new = sketches.get(before.run), sketches.get(after.run)
        if old is None or new is None:
            continue
        changes = comparison_of(old, new).changes
        if changes:
            parts = [
                formatting.plain(wording.change_text(each))
                for each in changes[:_MOST_CHANGES]
            ]
            if len(changes) > _MOST_CHANGES:
                parts.append(f"+{len(changes) - _MOST_CHANGES} more")
            found.append(Changed(places[after.run], after.run, tuple(parts)))
    return found


_MOST_RUNS, _MOST_FOUND_LINES, _OF_A_RUN = 50, 500, 50
_SEARCH_TIMEOUT = 8.0


class LinesOfRun(msgspec.Struct, frozen=True, kw_only=True):
    """The first lines of a run that fit, and how many there are."""

    run: RunEntry
    lines: tuple[dict[str, object], ...]
    number: int


class LogSearch(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, in how many runs it was looked for, and whether there are more.

    `unread` says of each run that could not be read why it was left out.
    """

    found: tuple[LinesOfRun, ...]
    searched: int
    more: bool
    unread: tuple[str, ...] = ()


def _lines_of_runs(
    store: Store,
    query: LogQuery,
    *,
    job: str | None = None,
) -> LogSearch:
    """Return the lines of the newest runs that fit a query.

    Raises:
        ConfigurationError: if the query has a part that cannot be understood.
        StoreError: if the store cannot be listed.
    """
    deadline = time.monotonic() + _SEARCH_TIMEOUT
    found: list[LinesOfRun] = []
    unread: list[str] = []
    searched = lines = 0
    runs = list(islice(marked_runs(store, job=job), _MOST_RUNS + 1))
    for entry in runs[:_MOST_RUNS]:
        if time.monotonic() > deadline or lines >= _MOST_FOUND_LINES:
            break
        searched += 1
        try:
            with reading(entry.address):
                opened = Run.at(store, entry.address)
                if opened.logs.is_empty():
                    continue
                chosen, _ = chosen_lines(opened, query)
        except RecordingError as error:
            if searched == len(runs) == 1:
                raise
            unread.append(f"{entry.address.name} was left out, because {error}")
            continue
        if chosen.height:
            first = tuple(chosen.head(_OF_A_RUN).to_dicts())
            found.append(LinesOfRun(run=entry, lines=first, number=chosen.height))
            lines += len(first)
    return LogSearch(
        found=tuple(found),
        searched=searched,
        more=searched < len(runs),
        unread=tuple(unread),
    )


_GRAPH_WIDTH, _GRAPH_ROW, _NARROWEST, _DEEPEST = 1000.0, 20, 2.0, 40
_LETTER = 6.4
_STRONGEST = 0.1


class Box(NamedTuple):
    """A frame: its place in pixels, how much it grew (red) or shrank (blue), its texts."""

    x: float
    y: int
    width: float
    grew: bool
    strength: float
    label: str
    text: str


class ComparedFlames(NamedTuple):
    """The graph of the second run, in pixels."""

    boxes: list[Box]
    height: int


def compared_flames(store: Store, before: str, after: str) -> ComparedFlames | None:
    """Return the flame graph of the second run, coloured by its difference to the first.

    None where one of the two has no recording any more, or no profile.
    """
    try:
        trees = [merged_profile(find_run(store, name)) for name in (before, after)]
    except BlackboxError:
        return None
    old, new = trees
    if old is None or new is None:
        return None
    scale = new["count"] / max(1, old["count"])
    boxes: list[Box] = []
    below: list[tuple[ProfileNode, ProfileNode | None, float, float, int]] = [
        (new, old, 0.0, _GRAPH_WIDTH, -1)
    ]
    while below:
        node, other, left, width, depth = below.pop()
        if depth >= 0:
            boxes.append(_box(node, other, (left, width, depth), (new["count"], scale)))
        counterparts = _by_name(other)
        x = left
        for child in sorted(node["children"].values(), key=lambda each: -each["count"]):
            wide = width * child["count"] / node["count"] if node["count"] else 0.0
            if wide >= _NARROWEST and depth < _DEEPEST:
                below.append(
                    (child, counterparts.get(_name(child)), x, wide, depth + 1)
                )
            x += wide
    height = max((box.y for box in boxes), default=0) + _GRAPH_ROW
    return ComparedFlames(boxes, height)


def _name(node: ProfileNode) -> tuple[str, str]:
    description = node["description"]
    # Lines and folders move from one release to the next; names seldom do.
    return str(description.get("name")), str(description.get("filename")).rpartition(
        "/"
    )[2]


def _by_name(node: ProfileNode | None) -> dict[tuple[str, str], ProfileNode]:
    return (
        {}
        if node is None
        else {_name(child): child for child in node["children"].values()}
    )


def _box(
    node: ProfileNode,
    other: ProfileNode | None,
    place: tuple[float, float, int],
    whole: tuple[int, float],
) -> Box:
    left, width, depth = place
    total, scale = whole
    count = 0 if other is None else other["count"]
    share, was = node["count"] / total, count * scale / total
    name, file = _name(node)
    label = plain(name)
    fitting = int((width - 6) / _LETTER)
    return Box(
        x=round(left, 1),
        y=depth * _GRAPH_ROW,
        width=round(max(0.5, width - 0.8), 1),
        grew=share >= was,
        strength=round(min(1.0, abs(share - was) / _STRONGEST), 2),
        label=label if len(label) <= fitting else label[: max(0, fitting - 1)],
        text=(
            f"{label} ({plain(file)}): {share:.1%} of the samples, before {was:.1%}; "
            f"{node['count'] * INTERVAL:.1f} s, before {count * INTERVAL:.1f} s"
        ),
    )

"""The Dask runs of a DAG, of one of its runs or of one of its tasks: trend, failures, changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from statistics import median
from typing import Any, Final, NamedTuple

from dask_blackbox.errors import BlackboxError
from dask_blackbox.finding import Change
from dask_blackbox.job_history import FailureGroup
from fastapi.responses import Response

from airflow_dask_blackbox.addresses import TaskKey, page_of, runs_page_of
from airflow_dask_blackbox.tab.recordings import Recorded, place_of, recordings_of
from airflow_dask_blackbox.tab.tasks import Announced, announced_in
from airflow_dask_blackbox.tab.templating import answer

__all__ = ["SHOWN", "Asked", "page"]

_MOST_RUNS: Final = 5_000
_PER_PAGE: Final = 100
_MOST_BARS: Final = 40
_MOST_TASKS: Final = 20
_MOST_OPENED: Final = 12
_AT_ONCE: Final = 6
_GROUPS: Final = 3
_TIMEOUT: Final = 1.0
_ENDED: Final = frozenset({"success", "failed", "up_for_retry", "skipped", "removed"})

_UNRECORDED: Final = frozenset({"none", "unread"})
_NO_FAILURE: Final = frozenset({"succeeded", "running", *_UNRECORDED})
SHOWN: Final = ("all", "failed", "not recorded")


class Asked(NamedTuple):
    """What somebody wants to see.

    Attributes:
        dag_id: Which DAG.
        run_id: Of this run only; empty: of all.
        task_id: Of this task only; empty: of all.
        show: One of `SHOWN`.
        find: Of runs only whose task, mapped instance or DAG run contains this.
        page: Which page of the list, from 1.
    """

    dag_id: str
    run_id: str = ""
    task_id: str = ""
    show: str = "all"
    find: str = ""
    page: int = 1

    def address(self, **other: object) -> str:
        """Return the address of this page, with something else asked for."""
        query = {**self._asdict(), "page": None, **other}
        if query["show"] == SHOWN[0]:
            query["show"] = None
        return runs_page_of(str(query.pop("dag_id")), **query)


class Line(NamedTuple):
    """A Dask run, in a line.

    Attributes:
        key: Of the task instance.
        try_number: Its newest try.
        state: Of the recording.
        headline: The one line to read.
        stopped: Airflow or a person ended it, which is no failure of the job.
        started: Epoch seconds.
        seconds: How long the task took; None while it runs.
        changes: What changed since the last good run.
        address: Of its page.
        label: What Airflow's pages call an instance of a mapped task; empty: it is none.
    """

    key: TaskKey
    try_number: int
    state: str
    headline: str
    stopped: bool
    started: float | None
    seconds: float | None
    changes: tuple[Change, ...]
    address: str
    label: str = ""


class DagRunLines(NamedTuple):
    """Dask runs of one DAG run.

    Attributes:
        run_id: Which DAG run.
        lines: Its Dask runs, as far as the page shows them.
        total: How many Dask runs it has.
        failures: How many of those failed by themselves.
    """

    run_id: str
    lines: tuple[Line, ...]
    total: int
    failures: int


class Bar(NamedTuple):
    """A bar of the trend: its place and its height, in the units of the drawing."""

    x: float
    y: float
    width: float
    height: float
    line: Line


class TaskTrend(NamedTuple):
    """The Dask runs of a task.

    Attributes:
        task_id: Which task.
        lines: Its runs, the newest first.
        bars: Its runs as bars, the oldest first.
        longest: Seconds that the highest bar stands for.
        usual: Median seconds of the good runs; None without any.
        failures: How many of them failed by themselves.
        unrecorded: How many of them have no recording in their store.
        groups: Failures by kind, where the store remembers.
    """

    task_id: str
    lines: tuple[Line, ...]
    bars: tuple[Bar, ...]
    longest: float
    usual: float | None
    failures: int
    unrecorded: int
    groups: tuple[FailureGroup, ...]


def page(asked: Asked) -> Response:
    """Return the page that shows what is asked for."""
    dag_id, run_id, task_id = asked.dag_id, asked.run_id, asked.task_id
    found = announced_in(dag_id, run_id=run_id, task_id=task_id, most=_MOST_RUNS + 1)
    more, found = len(found) > _MOST_RUNS, found[:_MOST_RUNS]
    lines = _lines(found)
    first_page = asked.page == 1 and not run_id
    groups = _groups(found) if first_page else {}
    tasks = list(_trends(lines, groups)) if first_page else []
    wanted = _by_dag_run([each for each in lines if _is_wanted(each, asked)])
    first = (asked.page - 1) * _PER_PAGE
    return answer(
        "runs.html",
        asked=asked,
        lines=lines,
        more=more,
        tasks=tasks[:_MOST_TASKS],
        total=len(wanted),
        pages=max(1, -(-len(wanted) // _PER_PAGE)),
        dag_runs=list(_dag_runs(wanted[first : first + _PER_PAGE], lines)),
        choices=SHOWN,
    )


def _is_wanted(line: Line, asked: Asked) -> bool:
    if asked.show == "failed" and not _is_failure(line):
        return False
    if asked.show == "not recorded" and line.state not in _UNRECORDED:
        return False
    texts = (line.key.task_id, line.label, line.key.run_id)
    return not asked.find or any(asked.find.lower() in each.lower() for each in texts)


def _is_failure(line: Line) -> bool:
    return line.state not in _NO_FAILURE and not line.stopped


def _by_dag_run(lines: Iterable[Line]) -> list[Line]:
    """Return lines by DAG run, the newest first, and in each its failures first."""
    of_runs: dict[str, list[Line]] = {}
    for line in lines:
        of_runs.setdefault(line.key.run_id, []).append(line)
    return [
        line
        for own in of_runs.values()
        for line in sorted(own, key=lambda line: not _is_failure(line))
    ]


def _dag_runs(shown: Iterable[Line], lines: Iterable[Line]) -> Iterator[DagRunLines]:
    """Yield what a page shows, by DAG run.

    Args:
        shown: The lines of this page, those of one DAG run together.
        lines: All lines.
    """
    own = list(lines)
    total = Counter(each.key.run_id for each in own)
    failures = Counter(each.key.run_id for each in own if _is_failure(each))
    for run_id, of_run in groupby(shown, key=lambda line: line.key.run_id):
        yield DagRunLines(run_id, tuple(of_run), total[run_id], failures[run_id])


def _lines(found: Sequence[Announced]) -> list[Line]:
    """Return a line for each; the recording is opened where the task could not say how it ended."""
    wanted = [each for each in found if _ended_meanwhile(each)][:_MOST_OPENED]
    # And the newest of each task: it has what changed.
    newest: dict[str, Announced] = {}
    for each in found:
        if each.task_state in _ENDED:
            newest.setdefault(each.key.task_id, each)
    wanted += [each for each in newest.values() if each not in wanted][:_MOST_OPENED]
    opened: dict[tuple[TaskKey, str], Recorded] = {}
    if wanted:
        with ThreadPoolExecutor(_AT_ONCE) as opening:
            for each, recorded in zip(
                wanted, opening.map(_opened, wanted), strict=True
            ):
                if recorded is not None:
                    opened[each.key, each.name] = recorded
    return [_line(each, opened.get((each.key, each.name))) for each in found]


def _ended_meanwhile(one: Announced) -> bool:
    # Airflow has no end of a task that it skips while it runs, at a dagrun_timeout.
    unknown = one.announced.get("state", "running") == "running" or one.ended is None
    return unknown and one.task_state in _ENDED


def _opened(one: Announced) -> Recorded | None:
    try:
        found = recordings_of(place_of(one.key, one.announced), one.key)
    except Exception:  # noqa: BLE001 - of a line among many: it says what Airflow knows
        return None
    return found[-1] if found else None


def _line(one: Announced, recorded: Recorded | None) -> Line:
    state = str(one.announced.get("state") or "running")
    stopped = one.announced.get("stopped") is True
    headline = str(one.announced.get("headline") or "")
    changes: tuple[Change, ...] = ()
    if recorded is not None:
        state, changes = recorded.state, recorded.changes
        stopped = recorded.stopped
        headline = recorded.headline or headline
    elif one.announced.get("problem"):
        # How it ended is not known to us, and it is no good run to compare with.
        state = "unread" if one.announced.get("kept") == "spool" else "none"
        headline = headline or f"Not recorded: {one.announced['problem']}"
    seconds = None if recorded is None else recorded.numbers.get("duration")
    if one.started is not None and one.ended is not None and one.ended >= one.started:
        seconds = one.ended - one.started
    return Line(
        key=one.key,
        try_number=one.try_number,
        state=state,
        headline="" if state == "running" else headline,
        stopped=stopped,
        started=one.started,
        seconds=seconds,
        changes=changes,
        address=page_of(one.key, "task"),
        label="" if one.key.map_index < 0 else one.label or str(one.key.map_index),
    )


def _trends(
    lines: Iterable[Line], groups: dict[str, tuple[FailureGroup, ...]]
) -> Iterable[TaskTrend]:
    of_tasks: dict[str, list[Line]] = {}
    for line in lines:
        of_tasks.setdefault(line.key.task_id, []).append(line)
    for task_id, own in of_tasks.items():
        good = [
            each.seconds
            for each in own
            if each.state == "succeeded" and each.seconds is not None
        ]
        newest = sorted(own, key=lambda line: line.started or 0.0)[-_MOST_BARS:]
        longest = max((each.seconds or 0.0 for each in newest), default=0.0)
        yield TaskTrend(
            task_id=task_id,
            lines=tuple(own),
            bars=tuple(_bars(newest, longest)),
            longest=longest,
            usual=median(good) if good else None,
            failures=sum(map(_is_failure, own)),
            unrecorded=sum(each.state in _UNRECORDED for each in own),
            groups=groups.get(task_id, ()),
        )


def _bars(lines: Sequence[Line], longest: float) -> Iterable[Bar]:
    """Yield bars in a drawing of 400 by 64, the newest at its right."""
    width = 400 / _MOST_BARS
    first = _MOST_BARS - len(lines)
    for place, line in enumerate(lines):
        share = (line.seconds or 0.0) / longest if longest else 0.0
        height = max(3.0, 60.0 * share)
        x = (first + place) * width
        yield Bar(
            round(x + 1, 1), round(64 - height, 1), width - 2, round(height, 1), line
        )


def _groups(found: Sequence[Announced]) -> dict[str, tuple[FailureGroup, ...]]:
    """Return the failures of each task by kind, as the sketches in its store tell them.

    Only of jobs with the name that a task has by itself: others may hold another DAG's.
    """
    newest: dict[str, Announced] = {}
    for each in found:
        if each.announced.get("job", "") == f"{each.key.dag_id}.{each.key.task_id}":
            newest.setdefault(each.key.task_id, each)
    failing = {
        each.key.task_id
        for each in found
        if each.task_state in {"failed", "up_for_retry"}
        or each.announced.get("state") in {"failed", "aborted", "lost"}
    }
    reported: dict[str, tuple[FailureGroup, ...]] = {}
    for task_id in [name for name in newest if name in failing][:_MOST_TASKS]:
        reported[task_id] = _groups_of(newest[task_id])
    return reported


def _groups_of(one: Announced) -> tuple[FailureGroup, ...]:
    from dask_blackbox.reader.job_histories import job_history

    try:
        place = place_of(one.key, one.announced)
        history: Any = job_history(place.store, place.job, timeout=_TIMEOUT)
    except BlackboxError:
        return ()
    except Exception:  # noqa: BLE001 - of Airflow's connections: any at all
        return ()
    return tuple(history.groups[:_GROUPS])

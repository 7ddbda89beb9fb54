"""The Dask runs of all DAGs in the last hours: failures by cause, and what waits for them.

Everything comes from Airflow's database, as tasks have published it: a page about thousands of
runs opens no recording but those few whose tasks could not say how they ended.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from fastapi.responses import JSONResponse, Response

from airflow_dask_blackbox.addresses import TaskKey, page_of, runs_page
from airflow_dask_blackbox.causes import Advice, Cause, advice_on, cause_of_all
from airflow_dask_blackbox.tab.recordings import place_of, recordings_of
from airflow_dask_blackbox.tab.tasks import (
    Announced,
    AssetSeen,
    announced_since,
    assets_of,
    blocked_in,
    unannounced_since,
)
from airflow_dask_blackbox.tab.templating import answer

__all__ = ["MOST_HOURS", "SHOWN", "Asked", "document", "page"]

_MOST_RUNS: Final = 20_000
_PER_PAGE: Final = 100
_MOST_OPENED: Final = 12
_OPENING: Final = 2.0
"""Seconds for looking into recordings whose tasks could not say how they ended."""
_MOST_SHOWN: Final = 12
_MOST_REMEDIES: Final = 3
_ENDED: Final = frozenset({"success", "failed", "up_for_retry", "skipped", "removed"})
_HOURS: Final = (24, 72, 168)
_OUTCOMES: Final = (
    "failed",
    "unknown",
    "not recorded",
    "stopped",
    "running",
    "succeeded",
)
"""The gravest first."""
MOST_HOURS: Final = 24 * 31
SHOWN: Final = ("all", "failed", "not recorded", "unusual")


class Asked(NamedTuple):
    """What somebody wants to see.

    Attributes:
        hours: Runs of so many hours.
        dag: Of DAGs whose id contains this.
        show: One of `SHOWN`.
        page: Which page of the list, from 1.
    """

    hours: int = 24
    dag: str = ""
    show: str = "all"
    page: int = 1

    def address(self, **other: object) -> str:
        """Return the address of this page, with something else asked for."""
        return runs_page(**{**self._asdict(), "page": 1, **other})


class DaskRun(NamedTuple):
    """A Dask run of a task, as its task published it.

    Attributes:
        key: Of the task instance.
        label: What Airflow's pages call that.
        outcome: One of `_OUTCOMES`.
        headline: The line to read.
        cause: Why it failed; None: nothing has, or it is not known.
        unusual: What was unusual about it, in lines.
        started: Epoch seconds; None: not known.
        seconds: How long the task took; None: it has not ended.
        address: Of its page.
    """

    key: TaskKey
    label: str
    outcome: str
    headline: str
    cause: Cause | None
    unusual: tuple[str, ...]
    started: float | None
    seconds: float | None
    address: str


class CauseGroup(NamedTuple):
    """Runs that failed of one cause.

    Attributes:
        cause: Of the newest of them, with the title of all.
        advice: What to do about them.
        runs: The newest first.
        dags: Of how many DAGs.
        new: No job of them has failed of it before.
        blocked: Tasks of the same DAG runs that cannot run now, by DAG.
        blocked_by_others: Other causes block them, too.
        assets: That are not updated now.
    """

    cause: Cause
    advice: Advice
    runs: tuple[DaskRun, ...]
    dags: int
    new: bool
    blocked: tuple[str, ...]
    blocked_by_others: bool
    assets: tuple[AssetSeen, ...]


class Night(NamedTuple):
    """The Dask runs of some hours.

    Attributes:
        runs: The newest first.
        more: There are more than could be looked at.
        groups: Failures by cause, new ones first.
        counts: How many runs had which outcome.
    """

    runs: tuple[DaskRun, ...]
    more: bool
    groups: tuple[CauseGroup, ...]
    counts: Mapping[str, int]


def page(
    asked: Asked, readable: Callable[[Iterable[str]], Collection[str]]
) -> Response:
    """Return the page.

    Args:
        asked: What to show.
        readable: Returns those DAGs that somebody may see.
    """
    night = _night(asked, readable)
    shown = [each for each in night.runs if _is_shown(each, asked.show)]
    first = (asked.page - 1) * _PER_PAGE
    return answer(
        "all_runs.html",
        asked=asked,
        night=night,
        shown=shown[first : first + _PER_PAGE],
        total=len(shown),
        pages=max(1, -(-len(shown) // _PER_PAGE)),
        hours=_HOURS,
        choices=SHOWN,
        most=_MOST_SHOWN,
        most_remedies=_MOST_REMEDIES,
    )


def document(
    asked: Asked, readable: Callable[[Iterable[str]], Collection[str]]
) -> Response:
    """Return the same as JSON, for tools.

    Args:
        asked: What to show.
        readable: Returns those DAGs that somebody may see.
    """
    night = _night(asked, readable)
    return JSONResponse(
        {
            "hours": asked.hours,
            "counts": night.counts,
            "more": night.more,
            "causes": [_group_as_json(each) for each in night.groups],
            "runs": [
                _run_as_json(each) for each in night.runs if _is_shown(each, asked.show)
            ],
        }
    )


def _group_as_json(group: CauseGroup) -> dict[str, Any]:
    remedies, lines, differs = group.advice
    return {
        "rule": group.cause.rule,
        "title": group.cause.title,
        "remedies": [{"text": text, "tasks": names} for text, names in remedies],
        "paste": lines,
        "paste_differs": differs,
        "new": group.new,
        "dags": group.dags,
        "tasks": [each.key._asdict() for each in group.runs],
        "blocked": group.blocked,
        "blocked_by_others": group.blocked_by_others,
        "assets": [each._asdict() for each in group.assets],
    }


def _run_as_json(run: DaskRun) -> dict[str, Any]:
    cause = None if run.cause is None else run.cause._asdict()
    return {**run._asdict(), "key": run.key._asdict(), "cause": cause}


def _is_shown(run: DaskRun, show: str) -> bool:
    if show == "failed":
        return run.outcome in {"failed", "unknown"}
    if show == "unusual":
        return bool(run.unusual)
    return show in {"all", run.outcome}


def _night(asked: Asked, readable: Callable[[Iterable[str]], Collection[str]]) -> Night:
    since = datetime.fromtimestamp(time.time() - 3600 * asked.hours, UTC)
    found = announced_since(since, dag=asked.dag, most=_MOST_RUNS + 1)
    more = len(found) > _MOST_RUNS
    found = [*found[:_MOST_RUNS], *unannounced_since(since, asked.dag, _MOST_RUNS)]
    allowed = readable({each.key.dag_id for each in found})
    found = [each for each in found if each.key.dag_id in allowed]
    opened = _opened(found)
    runs = sorted(
        (_run(each, opened.get((each.key, each.name), {})) for each in found),
        key=lambda run: -(run.started or 0.0),
    )
    counted = Counter(each.outcome for each in runs)
    return Night(
        runs=tuple(runs),
        more=more,
        groups=tuple(_groups(runs, readable)),
        counts={name: counted[name] for name in _OUTCOMES if counted[name]},
    )


def _opened(found: Sequence[Announced]) -> dict[tuple[TaskKey, str], dict[str, object]]:
    """Return how the newest of those runs ended whose tasks could not say it."""
    wanted = [each for each in found if _is_silent(each)][:_MOST_OPENED]
    if not wanted:
        return {}
    pool = ThreadPoolExecutor(_MOST_OPENED)
    reading = {pool.submit(_look, each): each for each in wanted}
    done, _ = wait(reading, timeout=_OPENING)
    pool.shutdown(wait=False, cancel_futures=True)
    return {(reading[each].key, reading[each].name): each.result() for each in done}


def _is_silent(one: Announced) -> bool:
    state = one.announced.get("state")
    return state == "running" and one.task_state in _ENDED


def _look(one: Announced) -> dict[str, object]:
    try:
        found = recordings_of(place_of(one.key, one.announced), one.key)
    except Exception:  # noqa: BLE001 - of a run among many: its own page says why
        return {}
    if not found or found[-1].state == "running":
        return {}
    last = found[-1]
    cause = None if last.cause is None else last.cause._asdict()
    return {
        "state": last.state,
        "headline": last.headline,
        "stopped": last.stopped,
        "cause": cause,
    }


def _run(one: Announced, opened: Mapping[str, object]) -> DaskRun:
    said = {**one.announced, **opened}
    outcome = _outcome(one, said)
    headline = str(said.get("headline") or "")
    if outcome == "not recorded":
        headline = str(said.get("problem") or "Its recording never started")
    elif outcome == "unknown":
        headline = "Ended without a report; its page shows what its recorder knows"
    seconds = None
    if one.started is not None and one.ended is not None and one.ended >= one.started:
        seconds = one.ended - one.started
    unusual = said.get("unusual")
    return DaskRun(
        key=one.key,
        label=one.key.task_id
        if one.key.map_index < 0
        else f"{one.key.task_id} [{one.label or one.key.map_index}]",
        outcome=outcome,
        headline="" if outcome == "running" else headline,
        cause=Cause.announced(said.get("cause")) if outcome == "failed" else None,
        unusual=tuple(map(str, unusual)) if isinstance(unusual, list) else (),
        started=one.started,
        seconds=seconds,
        address=page_of(one.key, "task"),
    )


def _outcome(one: Announced, said: Mapping[str, object]) -> str:
    state = str(said.get("state") or "")
    if not one.announced or (said.get("problem") and said.get("kept") != "spool"):
        return "not recorded"
    if said.get("stopped") is True:
        return "stopped"
    if state == "running":
        return "unknown" if one.task_state in _ENDED else "running"
    return "succeeded" if state == "succeeded" else "failed"


def _groups(
    runs: Sequence[DaskRun], readable: Callable[[Iterable[str]], Collection[str]]
) -> list[CauseGroup]:
    """Return failures by cause, new ones first, then the most tasks."""
    by_cause: dict[tuple[str, str], list[DaskRun]] = {}
    for run in runs:
        if run.cause is not None:
            by_cause.setdefault(run.cause.key, []).append(run)
    dag_runs = {
        (each.key.dag_id, each.key.run_id): key
        for key, failed in by_cause.items()
        for each in failed
    }
    causes_in = Counter(
        at
        for failed in by_cause.values()
        for at in {(each.key.dag_id, each.key.run_id) for each in failed}
    )
    blocked = blocked_in(dag_runs)
    assets = assets_of({dag_id for dag_id, _ in dag_runs})
    seen = readable(
        {each for asset in assets.values() for a in asset for each in a.dags}
    )
    groups = [
        _group(failed, blocked, causes_in, assets, seen) for failed in by_cause.values()
    ]
    return sorted(
        groups, key=lambda each: (not each.new, -len(each.runs), each.cause.title)
    )


def _group(
    failed: Sequence[DaskRun],
    blocked: Mapping[tuple[str, str], Sequence[str]],
    causes_in: Mapping[tuple[str, str], int],
    assets: Mapping[tuple[str, str], Sequence[AssetSeen]],
    seen: Collection[str],
) -> CauseGroup:
    known = [(each, each.cause) for each in failed if each.cause is not None]
    at = dict.fromkeys((each.key.dag_id, each.key.run_id) for each in failed)
    waiting = [(dag, task) for dag, run in at for task in blocked.get((dag, run), ())]
    own = [(each.key.dag_id, each.key.task_id) for each in failed]
    return CauseGroup(
        cause=cause_of_all(cause for _, cause in known),
        advice=advice_on(
            (f"{run.key.dag_id}.{run.key.task_id}", f"{run.key.dag_id}.{run.label}", of)
            for run, of in known
        ),
        runs=tuple(failed),
        dags=len({dag for dag, _ in at}),
        new=all(each.cause is not None and each.cause.times == 1 for each in failed),
        blocked=tuple(dict.fromkeys(f"{dag}.{task}" for dag, task in waiting)),
        blocked_by_others=any(causes_in[each] > 1 and blocked.get(each) for each in at),
        assets=tuple(_assets([*own, *waiting], assets, seen)),
    )


def _assets(
    tasks: Iterable[tuple[str, str]],
    assets: Mapping[tuple[str, str], Sequence[AssetSeen]],
    seen: Collection[str],
) -> Iterator[AssetSeen]:
    """Yield what tasks would have updated, with those DAGs that somebody may see."""
    found = (asset for task in dict.fromkeys(tasks) for asset in assets.get(task, ()))
    for each in dict.fromkeys(found):
        dags = tuple(dag for dag in each.dags if dag in seen)
        yield each._replace(dags=dags)

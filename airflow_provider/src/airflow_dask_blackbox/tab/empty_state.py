"""Why there is no Dask run to show, and what to do about it: the page of tasks without one."""

from __future__ import annotations

from typing import Final, NamedTuple

from airflow_dask_blackbox.causes import Cause
from airflow_dask_blackbox.plain_tasks import is_switched_on
from airflow_dask_blackbox.selection import OPT_OUT
from airflow_dask_blackbox.tab.recordings import Place
from airflow_dask_blackbox.tab.tasks import TaskSeen

__all__ = ["EmptyState", "empty_state_of"]

_OPERATOR: Final = """\
from airflow_dask_blackbox.operators.dask import DaskObservedOperator

DaskObservedOperator(task_id="revenue", python_callable=revenue)"""

_OF_CLUSTERS: Final = {"DaskClusterSetup": "starts", "DaskClusterTeardown": "closes"}
"""What our operators without recordings do."""


_DID_NOT_RUN: Final = {
    "skipped": "Airflow skipped it.",
    "upstream_failed": "A task that it depends on has failed.",
    "removed": "It is no longer in the DAG.",
}
"""Why a task never started, by Airflow's word for its state."""


_RAISED: Final = "driver-exception"
"""The rule of a task that failed because it cannot be recorded: of any other one without a
recording, nobody knows why it failed."""


class EmptyState(NamedTuple):
    """What the page says instead.

    Attributes:
        title: The one line to read.
        paragraphs: More of it.
        code: What to write into a DAG; empty if nothing.
        calm: Whether all is as it should be.
    """

    title: str
    paragraphs: tuple[str, ...]
    code: str = ""
    calm: bool = True


def empty_state_of(
    seen: TaskSeen | None, place: Place | None, problem: str, number: int | None
) -> EmptyState:
    """Return why there is nothing to show.

    Args:
        seen: The task instance.
        place: Where its recordings should be.
        problem: Why they cannot be read.
        number: Which try is asked for.
    """
    if seen is None:
        return EmptyState(
            "Airflow has no such task instance",
            ("The DAG run may have been deleted, or the task renamed.",),
            calm=False,
        )
    if not seen.is_ours:
        return _not_dask(seen)
    if _did_not_run(seen, number):
        return EmptyState("This task did not run", (_DID_NOT_RUN[seen.state],))
    if not seen.tries:
        return EmptyState(
            "This task has not started yet",
            (
                "Its Dask run appears here when it starts.",
                "This page refreshes automatically.",
            ),
        )
    if (reported := _reported(seen)) and seen.announced.get("kept") == "none":
        return _not_recorded(seen, reported)
    return _unread(seen, problem) if problem else _not_there(seen, place, number)


def _not_recorded(seen: TaskSeen, reported: list[str]) -> EmptyState:
    """Return that there is no recording, or, if the task needed one, that it failed of that."""
    cause = Cause.announced(seen.announced.get("cause"))
    if cause is not None and cause.rule == _RAISED:
        return EmptyState(cause.title, (*reported, cause.remedy), calm=False)
    log = "The task's own log holds the card, which says how the task ended."
    return EmptyState("This task was not recorded", (*reported, log), calm=False)


def _unread(seen: TaskSeen, problem: str) -> EmptyState:
    return EmptyState(
        "The recording cannot be read from here",
        (
            f"Airflow's API server reports: {problem}",
            *_reported(seen),
            "The task's own log holds the card: verdict, cause and what to do.",
        ),
        calm=False,
    )


def _did_not_run(seen: TaskSeen, number: int | None) -> bool:
    newest = not seen.tries or number == seen.tries[-1].number
    # A task that skips itself has run, and said where it records to.
    itself = seen.state == "skipped" and bool(seen.announced)
    return newest and seen.state in _DID_NOT_RUN and not itself


def _not_dask(seen: TaskSeen) -> EmptyState:
    if (does := _OF_CLUSTERS.get(seen.operator)) is not None:
        where = (
            f"This task {does} a Dask cluster. The tasks that use the cluster record what "
            "runs on it: see their tabs, or “Dask runs” of the DAG run."
        )
        return EmptyState("No Dask run here", (where,))
    who = f"This is a {seen.operator} task. " if seen.operator else ""
    if is_switched_on():
        recorded = (
            f"{who}Dask clients that a task or the Python of a BashOperator creates are "
            "recorded; this task created none, or is excluded by the setting "
            "record_every_client_only or record_every_client_except."
        )
        others = (
            "Work in a pod or a container is not recorded, nor is a DAG with the tag "
            f"{OPT_OUT}."
        )
        return EmptyState("No Dask run here", (recorded, others))
    shows = (
        f"{who}This tab shows recorded Dask runs: why a run failed, where its time went, "
        "and each worker over time."
    )
    return EmptyState(
        "No Dask run here",
        (shows, "To record one, use this operator in its DAG:"),
        code=_OPERATOR,
    )


def _reported(seen: TaskSeen) -> list[str]:
    """Return what the newest try says of why it is not recorded."""
    problem = str(seen.announced.get("problem") or "")
    return [f"The task reports: {problem}"] if problem else []


def _not_there(seen: TaskSeen, place: Place | None, number: int | None) -> EmptyState:
    running = any(each.goes_on and each.number == number for each in seen.tries)
    where = "" if place is None else place.store.url
    if running and not seen.announced.get("problem"):
        return EmptyState(
            "The recording has not started yet",
            (
                "The task is running; its first data reaches the store within seconds.",
                "This page refreshes automatically.",
            ),
        )
    if number == seen.tries[-1].number and "state" not in seen.announced:
        return EmptyState(
            f"Try {number} ended before its recording started",
            (
                "A recording starts when the templates are rendered. See the task's log.",
            ),
            calm=False,
        )
    reported = _reported(seen)
    any_reported = bool(reported)
    if where and not any_reported:
        reported.append(
            f"Airflow's API server finds no recording of this try in {where}. The task "
            "may have ended before recording started, the recording may have been "
            "deleted, or that path is a different one here. The task's own log shows "
            "how it ended."
        )
        if "://" not in where:
            reported.append(
                "It is a folder: Airflow's task machines and its API server both need "
                "access to it. A bucket (s3://…) works for all."
            )
    return EmptyState(f"Try {number} was not recorded", tuple(reported), calm=False)

"""What a retry of a failed flow run would execute again, and what it would not.

A retry calls the flow's function again.  A task run whose result was persisted under a key
of its cache policy is not executed again; all others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dask_blackbox.formatting import counted
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import TaskRun

from prefect_dask_blackbox.final_states import read_runs
from prefect_dask_blackbox.submitted_tasks import SubmittedTask

__all__ = ["Rerun", "rerun_of", "rerun_text"]

_MOST = 1_000
"""Task runs that are looked at; of a flow run with more, nothing is said."""


class Rerun(NamedTuple):
    """What a retry would do with the task runs that a flow run submitted.

    Attributes:
        submitted: How many there are.
        completed: How many of them completed.
        kept: How many of these have a result that a retry would find.
        keepable: How many of the others had one if results were persisted.
    """

    submitted: int
    completed: int
    kept: int
    keepable: int


def rerun_of(
    client: SyncPrefectClient, entries: Sequence[SubmittedTask]
) -> Rerun | None:
    """Return what a retry would do; None where there are too many task runs to look at.

    Args:
        client: Of Prefect's API.
        entries: All that the flow run submitted.
    """
    if not 1 < len(entries) <= _MOST:
        return None
    runs = read_runs(client, [each.task_run_id for each in entries])
    completed = [each for each in entries if _is_completed(runs.get(each.task_run_id))]
    kept = [
        each
        for each in completed
        if _is_cached(each) and _is_persisted(runs[each.task_run_id])
    ]
    keepable = [
        each
        for each in completed
        if each.task.persist_result is None
        and not _is_persisted(runs[each.task_run_id])
    ]
    return Rerun(len(entries), len(completed), len(kept), len(keepable))


def rerun_text(found: Rerun | None) -> str:
    """Return the sentence about a retry on the card; empty where it has nothing to say."""
    if found is None or not found.completed:
        return ""
    again = found.submitted - found.kept
    text = (
        f"A retry of this flow run executes {again:,} of "
        f"{counted(found.submitted, 'task run')}"
    )
    if found.kept:
        text += f"; the results of the other {found.kept:,} are persisted"
    if not found.keepable:
        return f"{text}."
    return (
        f"{text}. {counted(found.keepable, 'of these has', 'of these have')} completed, but "
        "without a persisted result: `persist_result=True` on the flow would keep such "
        "results for a retry."
    )


def _is_completed(run: TaskRun | None) -> bool:
    return run is not None and run.state is not None and run.state.is_completed()


def _is_persisted(run: TaskRun) -> bool:
    """Return whether the server knows where the result is stored."""
    data = None if run.state is None else run.state.data
    return getattr(data, "storage_key", None) is not None


def _is_cached(entry: SubmittedTask) -> bool:
    """Return whether a retry looks for the result: not all that is persisted is cached."""
    policy = entry.task.cache_policy
    return bool(policy) and policy != NO_CACHE and not entry.task.refresh_cache

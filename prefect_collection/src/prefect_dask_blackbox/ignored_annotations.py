"""`allow_failure` in subflows that nobody observes: plain prefect-dask does not keep it.

Dask puts the state of a failed task in the place of its future, and makes a plain tuple of
the annotation around it, so that Prefect does not run the task that was to allow it; where
the input completed, the task gets it within that tuple. What was submitted so is noted
when it is submitted; whether it ran, Prefect's server knows.
"""

from __future__ import annotations

import time
from itertools import islice
from uuid import UUID

from dask_blackbox.formatting import counted
from dask_blackbox.guard import guard
from dask_blackbox.report import escaped
from distributed import Future
from prefect.utilities.annotations import allow_failure, quote
from prefect.utilities.collections import StopVisiting, visit_collection

from prefect_dask_blackbox.identity import prefect_client
from prefect_dask_blackbox.submitted_tasks import Ledger, SubmittedTask, shown_name
from prefect_dask_blackbox.unrequested_failures import fill_in

__all__ = ["allowed_in", "ask_for_ignored", "ignored_text"]

_SOON = 3.0
"""Seconds in which the states of a subflow's tasks may still reach Prefect's database."""
_MOST = 200
_MOST_NAMED, _MOST_FLOWS = 3, 3


def allowed_in(given: object) -> frozenset[UUID]:
    """Return the task runs that may fail of those that a task is given.

    Args:
        given: Parameters, or what it is to wait for, with futures of Dask.
    """
    found: set[UUID] = set()

    def look_at(part: object, context: dict[str, object]) -> None:
        annotation = context.get("annotation")
        if isinstance(annotation, quote):
            raise StopVisiting
        if isinstance(annotation, allow_failure) and isinstance(part, Future):
            run_id = getattr(part, "task_run_id", None)
            found.update([run_id] if isinstance(run_id, UUID) else [])

    visit_collection(given, visit_fn=look_at, return_data=False, context={})
    return frozenset(found)


def ask_for_ignored(ledger: Ledger) -> None:
    """Fill in the states of tasks that plain prefect-dask was to let run in spite of failures.

    And of those that they waited for.
    """
    allowing = (each for each in ledger.others.values() if each.allowed)
    entries = list(islice(allowing, _MOST))
    if not entries:
        return
    deadline = time.monotonic() + _SOON
    with (
        guard("what became of `allow_failure` in subflows"),
        prefect_client() as client,
    ):
        fill_in(client, entries)
        while not all(map(_is_over, entries)) and time.monotonic() < deadline:
            time.sleep(0.25)
            fill_in(client, entries)
        blockers = {each.blocked_by for each in entries}
        fill_in(client, [ledger.others[i] for i in blockers if i in ledger.others])


def _is_over(entry: SubmittedTask) -> bool:
    return entry.never_began or _is_final(entry)


def _is_final(entry: SubmittedTask) -> bool:
    return entry.state is not None and entry.state.is_final()


def ignored_text(ledger: Ledger) -> str:
    """Return as Markdown where `allow_failure` had no effect; empty: nowhere."""
    flows: dict[str, list[SubmittedTask]] = {}
    for each in ledger.others.values():
        if each.allowed:
            flows.setdefault(each.flow, []).append(each)
    texts = (_text_of(flow, entries) for flow, entries in flows.items())
    return "\n\n".join(islice((each for each in texts if each), _MOST_FLOWS))


def _text_of(flow: str, entries: list[SubmittedTask]) -> str:
    never = [each for each in entries if each.blocked_by in each.allowed]
    if not never:
        return ""
    names = ", ".join(escaped(shown_name(each.name)) for each in never[:_MOST_NAMED])
    more = len(never) - _MOST_NAMED
    names += f" and {more:,} more" if more > 0 else ""
    text = (
        f"`allow_failure` had no effect in the flow {escaped(shown_name(flow))}: {names} "
        "never ran, though the input that failed was allowed to. That flow is not "
        "decorated with `observed_flow`, and in plain prefect-dask, Dask makes a tuple of "
        "the annotation."
    )
    wrapped = sum(each.allows_argument and _is_final(each) for each in entries)
    if wrapped:
        who = counted(wrapped, "task run")
        text += f" {who} whose input had completed got it within a tuple."
    return (
        f"{text} **What to do:** decorate the flow with `observed_flow`, or give it the "
        "task runner `BlackboxTaskRunner`, which keeps the annotation."
    )

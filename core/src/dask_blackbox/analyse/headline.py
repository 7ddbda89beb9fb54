"""The headline of a card, and the host's names of tasks in the place of Dask's keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec
import polars as pl

from dask_blackbox.analyse.facts.executions import FailedTaskRuns
from dask_blackbox.analyse.run_state import State, state_of
from dask_blackbox.events import TaskNamed
from dask_blackbox.finding import ChainStep, CurrentState, Finding
from dask_blackbox.formatting import (
    counted,
    duration,
    short,
    short_with_paths,
    size,
    uncapitalised,
)
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables

_LONGEST = 120
_SILENT = 15.0
"""Seconds without a heartbeat, of which there is one every five, that are worth a word."""
_LOST = "scheduler-lost"
_LOCAL = "work in local threads and processes is not recorded"


def headline_of(
    state: State,
    verdict: Finding | None,
    findings: Sequence[Finding],
    numbers: Mapping[str, float],
    *,
    unrecorded: str | None = None,
    clusterless: bool = False,
    silent: float = 0.0,
    now: CurrentState | None = None,
    failed: FailedTaskRuns | None = None,
) -> str:
    """Return the card's headline, at most 120 characters long.

    Args:
        verdict: Why, if it failed.
        findings: All else that was found.
        unrecorded: What became of a recording that is not in its store, and why.
        clusterless: The driver was recorded and no cluster was: there was no client.
        silent: Seconds since the last sign of life of a run that has not ended.
        now: What such a run is doing.
        failed: How many of its host's task runs failed; None: none did.
    """
    if verdict is not None:
        return short_with_paths(verdict.title, _LONGEST)
    took = duration(numbers.get("duration", 0))
    if unrecorded is not None:
        return _whole_code(short(f"{state.capitalize()}, {unrecorded}", _LONGEST))
    if clusterless:
        return f"{state.capitalize()} after {took} without a Dask client: {_LOCAL}"
    if state == "running":
        last = f"; last heartbeat {duration(silent)} ago" if silent > _SILENT else ""
        text = f"Running for {took}: {_work(numbers)}" if now is None else now.text
        return f"{short_with_paths(text, _LONGEST - len(last))}{last}"
    if state != "succeeded":
        return f"{state.capitalize()} after {took}: {_work(numbers)}"
    warnings = [each for each in findings if each.severity == "warning"]
    how = "Succeeded" if failed is None else f"Completed, but {_failed(failed)} failed,"
    return _of_success(warnings, f"{how} in {took}: {_work(numbers)}")


def _failed(runs: FailedTaskRuns) -> str:
    """Return how many of a host's task runs failed: `1 of 3 task runs`."""
    if runs.known is None:
        return counted(runs.failed, "task run")
    return f"{runs.failed:,} of {counted(runs.known, 'task run')}"


def _whole_code(text: str) -> str:
    """Return a shortened text without code of which only the beginning is left."""
    before, _, _ = text.rpartition("`")
    return f"{before.rstrip(' :(')} …" if text.count("`") % 2 else text


def _of_success(warnings: Sequence[Finding], text: str) -> str:
    """Return the headline of a run whose driver exited with 0."""
    lost = next((each.title for each in warnings if each.rule == _LOST), None)
    if lost is not None:
        text = f"Exited with 0, but {uncapitalised(lost)}"
        return short_with_paths(text, _LONGEST)
    if warnings:
        rules = ", ".join(dict.fromkeys(each.rule for each in warnings))
        text = f"{text}; {counted(len(warnings), 'warning')}: {rules}"
    return short(text, _LONGEST)


def headline_of_a_damaged_end(state: State, numbers: Mapping[str, float]) -> str:
    """Return the headline of a run of which nothing but its last state is known."""
    how = "how it ended" if state == "lost" else f"it {state}, but why"
    return f"The recording is damaged: {how} is no longer known; {_work(numbers)}"


def _work(numbers: Mapping[str, float]) -> str:
    tasks, workers = int(numbers.get("tasks", 0)), int(numbers.get("workers", 0))
    if not tasks and not workers:
        return "no work on a Dask cluster was recorded"
    cached = int(numbers.get("cached", 0))
    more = f" and {cached:,} from a cache" if cached else ""
    ran = counted(max(0, tasks - cached), "task")
    text = f"{ran}{more} on {counted(workers, 'worker')}"
    if "peak_memory" in numbers:
        text += f", peak memory {size(numbers['peak_memory'])}"
        if "memory_limit" in numbers:
            text += f" of {size(numbers['memory_limit'])}"
    return text


_KILLED = "killed"
_DEATHS = "workers-died"


def with_killed_tasks(
    run: RunTables, findings: Sequence[Finding]
) -> tuple[Finding, ...]:
    """Return findings, and why tasks were given up if the driver handled or never noticed it.

    That is the verdict which the run would have, had it failed of that.  It is about
    deaths of workers: where it is about all of them, the warning that there were some
    says nothing more."""
    from dask_blackbox.analyse import findings_in, verdict_of

    ending = run.ending
    if ending is None or state_of(run) != "succeeded":
        return tuple(findings)
    killed = run.errors.filter(pl.col("outcome") == _KILLED).sort("at")
    if not len(killed):
        return tuple(findings)
    last = killed.row(-1, named=True)
    failed = msgspec.structs.replace(
        ending,
        state="failed",
        exception=DriverException(
            exception=last["exception"] or "distributed.scheduler.KilledWorker",
            message=last["message"] or "",
            key=last["key"],
        ),
    )
    otherwise = run.with_ending(failed)
    found = findings_in(otherwise)
    verdict = verdict_of(found, otherwise)
    if verdict is None or verdict.rule == "unknown":
        return tuple(findings)
    others = any(each.rule == _DEATHS for each in found)
    kept = [each for each in findings if others or each.rule != _DEATHS]
    return (msgspec.structs.replace(verdict, severity="warning"), *kept)


_KEY = bounded(r"[\w.<>\[\]-]+-[0-9a-f]{3,32}(…?)")


_LONGEST_NAME = 80


class HostNames:
    """Puts the names of a run's host into what is written of it."""

    def __init__(self, run: RunTables) -> None:
        # On one line and cut: users may choose them freely.
        self._names: Mapping[str, str] = {
            each.subject: short(each.name, _LONGEST_NAME)
            for each in run.of(TaskNamed)
            if each.name
        }

    def in_text(self, text: str) -> str:
        """Return a text with the names of tasks instead of their keys, cut ones included."""
        return _KEY.sub(self._name, text) if self._names else text

    def in_finding(self, finding: Finding) -> Finding:
        """Return a finding with the names of tasks in all of its texts."""
        if not self._names:
            return finding
        return msgspec.structs.replace(
            finding,
            title=self.in_text(finding.title),
            own_title=self.in_text(finding.own_title),
            ended=self.in_text(finding.ended),
            before=tuple(map(self.in_step, finding.before)),
            cause=self.in_text(finding.cause),
            remedy=self.in_text(finding.remedy),
            evidence=tuple(
                msgspec.structs.replace(each, text=self.in_text(each.text))
                for each in finding.evidence
            ),
        )

    def in_current_state(self, state: CurrentState) -> CurrentState:
        """Return what a run is doing with the names of tasks."""
        return msgspec.structs.replace(
            state,
            text=self.in_text(state.text),
            cause=self.in_text(state.cause),
            usual=self.in_text(state.usual),
            remedy=self.in_text(state.remedy),
            evidence=tuple(
                msgspec.structs.replace(each, text=self.in_text(each.text))
                for each in state.evidence
            ),
        )

    def in_step(self, step: ChainStep) -> ChainStep:
        """Return a step of a chain with the names of tasks."""
        return msgspec.structs.replace(step, text=self.in_text(step.text))

    def _name(self, found: re.Match[str]) -> str:
        text = found[0]
        if not found[1]:
            return self._names.get(text, text)
        begin = text.removesuffix("…")
        names = {name for key, name in self._names.items() if key.startswith(begin)}
        return names.pop() if len(names) == 1 else text

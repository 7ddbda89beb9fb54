"""What else could have been the verdict, and why it is not: for `dask blackbox why`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.memory import peaks_of
from dask_blackbox.analyse.noise import NOISE
from dask_blackbox.analyse.words import counted, duration, listed, quoted, size
from dask_blackbox.finding import Finding
from dask_blackbox.run import RunTables

__all__ = ["Considered", "considered"]

_ERROR = 40
_MUCH = 0.8
_DEADLY = ("worker-", "kernel-oom", "environment-mismatch", "module-not-shipped")


class Considered(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was not taken for the cause.

    Attributes:
        what: What was seen, in a sentence.
        why_not: Why it is not the cause.
    """

    what: str
    why_not: str


def considered(run: RunTables, verdict: Finding | None) -> tuple[Considered, ...]:
    """Return what else a run's recording holds that fails runs, and why it did not."""
    case = Case(run)
    if verdict is None or not case.failed:
        return ()
    return tuple(
        found
        for look in (_deaths, _tasks, _standstill, _memory, _noise)
        for found in look(case, verdict)
    )


def _deaths(case: Case, verdict: Finding) -> Iterator[Considered]:
    told = verdict.rule in (case.blame.cause, "module-not-shipped")
    others = [d for d in case.deaths if not told or d not in case.blame.deaths]
    others = [d for d in others if d.address != verdict.subject.worker]
    causes = Counter(case.cause_of(death).slug for death in others)
    for slug, number in causes.most_common():
        of = f"died of {slug}" if slug != "unknown" else "died without a known cause"
        if case.blame.failure is not None and not case.blame.failure.killed:
            why = (
                "the driver's exception came from a task that raised, not from a death"
            )
        elif told:
            why = "most of the deaths at the task that failed had another cause"
        elif case.exception is None:
            why = "nothing that was recorded ties the end of the run to that"
        else:
            why = "the driver's exception does not speak of workers that died"
        yield Considered(what=f"{counted(number, 'worker')} {of}", why_not=why)


def _tasks(case: Case, verdict: Finding) -> Iterator[Considered]:
    others = [
        failure
        for failure in case.failures
        if failure.key != verdict.subject.key and not failure.killed
    ]
    if not others:
        return
    prefixes = Counter(failure.prefix for failure in others)
    if case.blame.failure in others:
        why = "what it raised has a cause of its own, which is the verdict"
    elif case.blame.proven:
        why = "the driver's exception leads to another"
    else:
        why = "nothing ties the driver's end to them"
    yield Considered(
        what=f"{counted(len(others), 'other task')} failed, of {quoted(prefixes)}",
        why_not=why,
    )


def _standstill(case: Case, verdict: Finding) -> Iterator[Considered]:
    hang = case.standstill
    if hang is None or not hang.wanted or case.exception is None:
        return
    text = " ".join(evidence.text for evidence in verdict.evidence)
    if "While it hung" in text:
        return
    yield Considered(
        what=f"no task had ended for {duration(hang.lasted)} when the run ended",
        why_not=(
            "the driver's exception is not one of waiting"
            if case.hang is None
            else "what the tasks waited for has a cause, which is the verdict"
        ),
    )


def _memory(case: Case, verdict: Finding) -> Iterator[Considered]:
    if not verdict.rule.startswith(_DEADLY) or verdict.retry_advice == "memory":
        return
    peaks = peaks_of(case.run).drop_nulls("memory_limit")
    if not len(peaks):
        return
    most = max(
        peaks.iter_rows(named=True), key=lambda row: row["peak"] / row["memory_limit"]
    )
    share = most["peak"] / most["memory_limit"]
    if share < _MUCH:
        yield Considered(
            what="memory",
            why_not=(
                f"no worker was seen above {share:.0%} of its limit "
                f"({size(most['peak'])} of {size(most['memory_limit'])})"
            ),
        )


def _noise(case: Case, verdict: Finding) -> Iterator[Considered]:
    """Yield the errors in the logs that follow from others."""
    errors = case.run.logs.filter(pl.col("level") >= _ERROR)
    seen = {
        name: number
        for name in NOISE
        if (number := int(errors["message"].str.contains(name, literal=True).sum()))
    }
    if seen:
        lines = [f"{number:,} of {name}" for name, number in seen.items()]
        yield Considered(
            what=f"{counted(sum(seen.values()), 'line')} in the logs: {listed(lines)}",
            why_not="Dask writes such lines after something else has failed",
        )

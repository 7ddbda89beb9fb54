"""What else could have been the verdict, and why it is not: for `dask blackbox why`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
import polars as pl

from dask_blackbox.analyse import diagnosis_of
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import NOISE
from dask_blackbox.analyse.worker_memory import peaks_of
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import counted, listed, quoted, short, size
from dask_blackbox.run_tables import RunTables

_ERROR = 40
_MUCH = 0.8
_DEADLY = ("worker-", "kernel-oom", "environment-mismatch", "module-not-shipped")


class RejectedCause(msgspec.Struct, frozen=True, kw_only=True):
    """A possible cause that was rejected.

    Attributes:
        what: What was seen, in a sentence.
        why_not: Why it is not the cause.
    """

    what: str
    why_not: str


def rejected_causes(
    run: RunTables, verdict: Finding | None
) -> tuple[RejectedCause, ...]:
    """Return what else a run's recording holds that fails runs, and why it did not."""
    case = Case(run)
    if verdict is None or not case.failed:
        return ()
    looks = (_hypotheses, _deaths, _tasks, _memory, _noise)
    return tuple(found for look in looks for found in look(case, verdict))


def _hypotheses(case: Case, verdict: Finding) -> Iterator[RejectedCause]:
    """Yield what rules found that is not the root of the chain, and why it is not."""
    for each in diagnosis_of(case).resolution.rejected:
        if not each.same and each.finding.rule != verdict.rule:
            what = f"{short(each.finding.title, 160)} ({each.finding.rule})"
            yield RejectedCause(what=what, why_not=each.because)


def _deaths(case: Case, verdict: Finding) -> Iterator[RejectedCause]:
    reported = verdict.rule in (case.blame.cause, "module-not-shipped")
    others = [d for d in case.deaths if not reported or d not in case.blame.deaths]
    others = [d for d in others if d.address != verdict.subject.worker]
    causes = Counter(case.cause_of(death).died for death in others)
    for died, number in causes.most_common():
        if case.blame.failure is not None and not case.blame.failure.killed:
            why = (
                "the driver's exception came from a task that raised, not from a "
                "worker that died"
            )
        elif reported:
            why = "most deaths during the failed task had another cause"
        elif case.exception is None:
            why = "nothing in the recording links it to the end of the run"
        else:
            why = "the driver's exception does not mention workers that died"
        yield RejectedCause(
            what=f"{counted(number, 'worker')} died {died}", why_not=why
        )


def _tasks(case: Case, verdict: Finding) -> Iterator[RejectedCause]:
    others = [
        failure
        for failure in case.failures
        if failure.key != verdict.subject.key and not failure.killed
    ]
    if not others:
        return
    prefixes = Counter(failure.prefix for failure in others)
    if case.blame.failure in others:
        why = "its exception has another cause, which is the verdict"
    elif case.blame.proven:
        why = "the driver's exception comes from another failure"
    else:
        why = "nothing in the recording links them to the end of the run"
    yield RejectedCause(
        what=f"{counted(len(others), 'other task')} failed, of {quoted(prefixes)}",
        why_not=why,
    )


def _memory(case: Case, verdict: Finding) -> Iterator[RejectedCause]:
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
        yield RejectedCause(
            what="memory",
            why_not=(
                f"no worker exceeded {share:.0%} of its limit "
                f"({size(most['peak'])} of {size(most['memory_limit'])})"
            ),
        )


def _noise(case: Case, verdict: Finding) -> Iterator[RejectedCause]:
    """Yield the errors in the logs that follow from others."""
    errors = case.run.logs.filter(pl.col("level") >= _ERROR)
    seen = {
        name: number
        for name in NOISE
        if (number := int(errors["message"].str.contains(name, literal=True).sum()))
    }
    if seen:
        lines = [f"{number:,} of {name}" for name, number in seen.items()]
        yield RejectedCause(
            what=f"{counted(sum(seen.values()), 'line')} in the logs: {listed(lines)}",
            why_not="Dask logs such lines after something else has failed",
        )

"""Did the run take longer than this job takes with so much input?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.analyse.unusual import UnusualPart, slower
from dask_blackbox.analyse.usual import Unusual
from dask_blackbox.analyse.words import counted, duration, quoted
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["SLOWER_THAN_USUAL"]

_GRAVE = 2.0


def _ask(case: Case) -> Iterator[Finding]:
    if case.state != "succeeded" or not case.history.good:
        return
    parts = slower(case.history.good, sketch_of(case))
    if not parts:
        return
    first = parts[0]
    prefixes = [part for part in parts if part.prefix is not None]
    if not prefixes and case.tolls.busy:
        return  # others had the host: a slow night, and nothing of the job's
    yield SLOWER_THAN_USUAL.found(
        _title(first),
        cause=f"{_said(first)} {_whose(first, prefixes)}".strip(),
        remedy=_remedy(first, prefixes),
        confidence="medium",
        severity="warning" if first.unusual.factor >= _GRAVE else "notice",
        subject=Subject(prefix=prefixes[0].prefix if prefixes else None),
        evidence=tuple(
            Evidence(text=_fact(part), source="tasks") for part in prefixes[:5]
        ),
    )


def _title(part: UnusualPart) -> str:
    times = f"{part.unusual.factor:.1f} times"
    if part.prefix is None:
        return f"The run took {times} as long as usual"
    if part.cpu:
        return f"Tasks of '{part.prefix}' computed {times} as long as usual"
    return f"Tasks of '{part.prefix}' took {times} as long as usual"


def _said(part: UnusualPart) -> str:
    unusual = part.unusual
    whose = "It took" if part.prefix is None else f"One of '{part.prefix}' took"
    if part.cpu:
        whose = f"One of '{part.prefix}' had a core for"
    return (
        f"{whose} {duration(unusual.value)}; {duration(unusual.expected)} was to be "
        f"expected {_by(unusual)}, and up to {duration(unusual.bar)} would have been usual."
    )


def _by(unusual: Unusual) -> str:
    with_input = " with this much input" if unusual.by_input else ""
    return f"after {counted(unusual.runs, 'good run')}{with_input}"


def _whose(first: UnusualPart, prefixes: list[UnusualPart]) -> str:
    if first.prefix is not None:
        own = " Of that time, neighbours have no part." if first.cpu else ""
        return f"The run as a whole took no longer than it may.{own}"
    if not prefixes:
        return "No prefix of tasks stands out: the time went between tasks, or to all."
    names = quoted(part.prefix or "" for part in prefixes)
    return f"It is the tasks of {names} that take longer, each of them."


def _fact(part: UnusualPart) -> str:
    unusual = part.unusual
    what = "core time, mean" if part.cpu else "median"
    return (
        f"'{part.prefix}': {what} of {counted(part.tasks, 'task')} "
        f"{duration(unusual.value)}, usually {duration(unusual.expected)}"
    )


def _remedy(first: UnusualPart, prefixes: list[UnusualPart]) -> str:
    if first.prefix is None and not prefixes:
        return (
            "Look at what changed, then at what the workers did between tasks: fewer or "
            "slower workers, waiting for them, transfers."
        )
    return (
        "Look at what changed in the code and the packages that these tasks run, and at "
        "the machines that they ran on."
    )


SLOWER_THAN_USUAL = Rule(
    slug="slower-than-usual",
    title="The run was slower than usual",
    question="Did the run take longer than this job takes with so much input?",
    severity="notice",
    ask=_ask,
    page=Page(
        detects=(
            "A run that ended well took much longer than earlier runs of the same job did, "
            "or tasks of a costly prefix did, though the input explains it not."
        ),
        evidence=(
            "The sketches of the job's good runs, 100 at most. The size of the input (bytes, "
            "else partitions; for tasks of a prefix, bytes of a partition) is taken into "
            "account by a robust line, and what remains is compared with its spread in "
            "earlier runs, and with the worst of them. Silent where "
            "others had most of the workers' host and no tasks stand out, below 4 earlier runs, below 8 "
            "where the input's size is not known, and below 1.4 to 1.8 times the expected. Where "
            "the time of tasks is not unusual for a busy host, the time that they had a core "
            "is judged in the same way, from 3 times the expected on. Of "
            "healthy runs, about 1 in 100 is called so: `benchmarks/false_alarms.py` "
            "measures it, and [history](../history.md) has the numbers."
        ),
        remedy=(
            "The card lists what changed since the last good run. If nothing did, look at "
            "the cluster: its machines, its neighbours, its network."
        ),
        before="took 41 m 10 s; 18 m 02 s was to be expected after 60 good runs",
        after="took 18 m 20 s",
    ),
)

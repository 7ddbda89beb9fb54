"""What is unusual for the job, and what the analysis itself lacks."""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.anomalies import Unusual, UnusualPart, slower
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.completeness import missing_from
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.finding import Evidence, Finding, Subject
from dask_blackbox.formatting import capital, counted, duration, listed, quoted, short

# slower-than-usual

_GRAVE = 2.0


def _ask_slower_than_usual(case: Case) -> Iterator[Finding]:
    if case.state != "succeeded" or not case.history.good:
        return
    parts = slower(case.history.good, sketch_of(case))
    if not parts:
        return
    first = parts[0]
    prefixes = [part for part in parts if part.prefix is not None]
    if not prefixes and case.task_activity.busy:
        return  # others had the host: a slow night, and nothing of the job's
    yield SLOWER_THAN_USUAL.found(
        _title(first),
        cause=f"{_sentence(first)} {_whose(first, prefixes)}".strip(),
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


def _sentence(part: UnusualPart) -> str:
    unusual = part.unusual
    whose = "It took" if part.prefix is None else f"A task of '{part.prefix}' took"
    if part.cpu:
        whose = f"A task of '{part.prefix}' had a core for"
    return (
        f"{whose} {duration(unusual.value)}. {_by(unusual)}, "
        f"{duration(unusual.expected)} was expected, and up to "
        f"{duration(unusual.bar)} would have been usual."
    )


def _by(unusual: Unusual) -> str:
    with_input = " with this much input" if unusual.by_input else ""
    return f"After {counted(unusual.runs, 'good run')}{with_input}"


def _whose(first: UnusualPart, prefixes: list[UnusualPart]) -> str:
    if first.prefix is not None:
        own = (
            " Other processes on the host do not account for that time."
            if first.cpu
            else ""
        )
        return f"The run as a whole took no longer than usual.{own}"
    if not prefixes:
        return (
            "No group of tasks stands out: the time was spent between tasks, or in "
            "all of them."
        )
    names = quoted(part.prefix or "" for part in prefixes)
    return f"Each task of {names} took longer."


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
            "Check what changed. Then check what workers did between tasks: fewer or "
            "slower workers, waiting for workers, transfers."
        )
    return (
        "Check what changed in the code and the packages that these tasks run, and the "
        "machines that they ran on."
    )


SLOWER_THAN_USUAL = documented("slower-than-usual", ask=_ask_slower_than_usual)

# recording-incomplete


def _ask_recording_incomplete(case: Case) -> Iterator[Finding]:
    missing = {} if case.state == "running" else missing_from(case.run)
    if not missing:
        return
    sentences = [
        f"{source}: {sentence}" for source, each in missing.items() for sentence in each
    ]
    yield RECORDING_INCOMPLETE.found(
        f"The recording lacks data from {listed(list(missing))}",
        cause=f"{capital(listed(sentences, most=6))}.",
        remedy=(
            "The other findings are valid, but the missing data may hide further ones. "
            "For dropped rows, raise `blackbox.capture.buffer` or pull more often "
            "(`blackbox.capture.interval`)."
        ),
        confidence="high",
        evidence=tuple(
            Evidence(text=sentence, source="events") for sentence in sentences[:10]
        ),
    )


RECORDING_INCOMPLETE = documented("recording-incomplete", ask=_ask_recording_incomplete)

# rule-failed


def _ask_rule_failed(case: Case) -> Iterator[Finding]:
    if not case.broken:
        return
    yield RULE_FAILED.found(
        f"{counted(len(case.broken), 'rule')} could not run",
        cause=f"{' '.join(f'{short(each, 240)}.' for each in case.broken[:5])}",
        remedy=(
            "Fix the rule, or uninstall its package; `dask_blackbox.testing` runs a "
            "rule over a recording. The other findings do not depend on it."
        ),
        confidence="high",
        evidence=tuple(
            Evidence(text=short(each, 400), source="driver") for each in case.broken[:5]
        ),
    )


RULE_FAILED = documented("rule-failed", ask=_ask_rule_failed)

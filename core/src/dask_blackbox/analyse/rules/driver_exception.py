"""Did the driver's own code fail, outside any task?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.advice import advice_on_text
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import (
    end_of,
    raised_apart_from_dask,
    raised_at_end,
    raised_by_a_library,
    raised_on_purpose,
    root_of_chain,
)
from dask_blackbox.analyse.hints import hint_on, plain_message
from dask_blackbox.analyse.noise import NOISE
from dask_blackbox.analyse.pace import Pace, pace_of
from dask_blackbox.analyse.raised import untangled
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, counted, duration, short
from dask_blackbox.finding import Confidence, Evidence, Finding, RetryAdvice
from dask_blackbox.manifest import DriverException

__all__ = ["DRIVER_EXCEPTION"]

_ERROR = 40
_MISTAKES = frozenset((
    "AttributeError", "IndexError", "NameError", "NotImplementedError", "TypeError",
    "UnboundLocalError", "ZeroDivisionError",
))  # fmt: skip
"""What Python raises of code that is wrong; by hand, it means the same."""
_DATA = (
    "FileNotFoundError",
    "KeyError",
    "EmptyDataError",
    "ParserError",
    "NotADirectoryError",
)


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.explained:
        return
    if case.exception is not None:
        if not _is_of_dead_workers(case):
            yield _of_exception(case, case.exception)
        return
    ending = case.run.ending
    if case.state == "failed" and ending is not None and ending.exit_code:
        yield _of_exit_code(case, ending.exit_code)


def _is_of_dead_workers(case: Case) -> bool:
    return case.raised("KilledWorker")


def _of_exception(case: Case, exception: DriverException) -> Finding:
    name, message = _named(exception)
    waited = name.endswith("TimeoutError") or name == "Timeout"
    where = (
        f", at {exception.file}:{exception.line} in {exception.function}"
        if exception.file
        else ""
    )
    sentences = [f"The driver raised {name}: {short(message, 300)}".rstrip(": ")]
    sentences[0] += where
    trace = exception.traceback
    root = root_of_chain(trace)
    if root and class_of(root[0]) != name:
        sentences.append(f"It began with {class_of(root[0])}: {short(root[1], 200)}")
    sentences.append(_tasks_then(case))
    if waited and (stall := case.stall()) is not None:
        sentences.append(stall.rstrip("."))
    pace = pace_of(case) if waited and not raised_by_a_library(trace) else None
    if pace is not None:
        sentences.append(pace.told)
    doubt = waited or case.failures or case.deaths
    sure: Confidence = "medium" if doubt else "high"
    if not case.saw_the_cluster:
        sure = "low"
    elsewhere = waited and raised_apart_from_dask(trace)
    advice = _advice(exception, waited=waited)
    return DRIVER_EXCEPTION.found(
        f"{name} in the driver: {short(message, 80)}".rstrip(": "),
        cause=". ".join(sentences) + ".",
        remedy=_remedy(
            exception, name, advice, waited=waited and not elsewhere, pace=pace
        ),
        confidence=sure,
        evidence=_evidence(case, exception),
        retry_advice=advice,
    )


def _named(exception: DriverException) -> tuple[str, str]:
    """Return class and message; of what Dask dispatched to a backend, the original one."""
    name, message, _ = untangled(exception.exception, exception.message)
    _, _, original = message.partition("Original Message: ")
    return name, plain_message(exception, original or message)


def _tasks_then(case: Case) -> str:
    if not case.saw_the_cluster:
        return "Nothing was recorded of a cluster: the error may have come from a task as well"
    if not case.run.details("graph-updated"):
        return "No graph had reached a scheduler: it was still being built"
    if case.failures:
        return (
            f"{counted(len(case.failures), 'task')} had failed before, the last of them "
            f"'{short(case.failures[-1].key, 60)}' with {short(str(case.failures[-1]), 120)}"
        )
    return "No task had failed"


def _remedy(
    exception: DriverException,
    name: str,
    advice: RetryAdvice,
    *,
    waited: bool,
    pace: Pace | None,
) -> str:
    look = (
        f"Look at {exception.file}:{exception.line}"
        if exception.file
        else "Look at its traceback"
    )
    if pace is not None:
        return (
            f"{look}: its time was too short for {counted(pace.sent, 'task')}. Raise it by "
            f"{duration(1.5 * pace.rest)} or more, take more workers, or ask for less at "
            "a time."
        )
    if waited:
        return (
            f"{look}: something was waited for and did not come in time. See what the workers "
            "were doing then; raise the timeout only if they were making progress."
        )
    if hint := hint_on(exception.message):
        return f"{look}. {hint}"
    if name in ("FileNotFoundError", "NotADirectoryError"):
        return f"{look}, and check that the path exists where the driver runs."
    more = ". Trying again as it is won't help."
    if _checked(exception):
        more = (
            ": the job's own code raises this, so whether trying again helps depends on "
            "what it found there."
        )
    elif advice in ("transient", "unknown"):
        more = ", and at what it talks to: that may have been away for a moment."
    return look + more


def _advice(exception: DriverException, *, waited: bool) -> RetryAdvice:
    if waited:
        return "unknown"
    if class_of(exception.exception) in _DATA:
        return "data"
    advice = advice_on_text(exception.exception, exception.message)
    # What the job's own code checks may be otherwise the next time.
    return "unknown" if advice == "code" and _checked(exception) else advice


def _checked(exception: DriverException) -> bool:
    """Say whether the job's own code raised it, of what it had found."""
    if class_of(exception.exception) in _MISTAKES:
        return False
    return raised_on_purpose(exception.traceback)


def _evidence(case: Case, exception: DriverException) -> tuple[Evidence, ...]:
    tail = end_of(exception.traceback)
    more = (Evidence(text=tail[:1500], source="driver"),) if tail else ()
    return (*case.exception_evidence(), *more, *_logged_before(case))


def _logged_before(case: Case) -> Iterator[Evidence]:
    """Yield the last error that the driver itself had logged: of a callback, perhaps."""
    # With a `LocalCluster`, the scheduler and the driver's client share one process.
    own = (pl.col("role") == "driver") | (
        (pl.col("role") == "scheduler") & (pl.col("logger") == "distributed.client")
    )
    errors = case.run.logs.filter(
        own
        & (pl.col("level") >= _ERROR)
        & ~pl.col("message").str.contains_any(list(NOISE))
    )
    for row in errors.sort("at").tail(1).iter_rows(named=True):
        message = row["message"]
        end = raised_at_end(message)
        text = short(message.partition("\n")[0], 200)
        if end is not None and "\n" in message:
            text += f" … {class_of(end[0])}: {short(end[1], 200)}"
        yield Evidence(
            text=f"The driver had logged: {text}",
            source="logs",
            at=row["at"].timestamp(),
            see=case.see("logs", "--role", row["role"]),
        )


def _of_exit_code(case: Case, code: int) -> Finding:
    ending = case.run.ending
    took = ""
    if ending is not None:
        took = f" after {duration(max(ending.ended - case.run.manifest.started, 0))}"
    lines = case.run.logs.filter(case.run.logs["role"] == "driver").tail(1)
    last = lines["message"].to_list()
    said = f" The last that it said: “{short(last[0], 200)}”." if last else ""
    return DRIVER_EXCEPTION.found(
        f"The command exited with code {code}, without an exception",
        cause=(
            f"The driver ended with exit code {code}{took}, and no exception was seen: code "
            f"of its own called `sys.exit({code})`, or it failed where nobody could "
            f"listen. {_tasks_then(case)}.{said}"
        ),
        remedy=(
            "Look at the last lines that the command printed "
            f"(`{case.see('logs')}`); raise an exception rather than exit, and its traceback "
            "will stand here."
        ),
        confidence="low",
        retry_advice="unknown",
        evidence=(
            Evidence(
                text=f"Exit code {code}.",
                source="driver",
                at=ending.ended if ending is not None else None,
            ),
        ),
    )


DRIVER_EXCEPTION = Rule(
    slug="driver-exception",
    title="The driver's own code failed",
    question="Did code of the driver raise, outside any task?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "The process that drives the run raised an exception of its own: while building a "
            "graph, inferring metadata, reading a path, or handling a result; or it exited "
            "with a code and no exception."
        ),
        evidence=(
            "The driver's exception with file and line, and that no failed task, death or "
            "lost connection leads to it. High confidence if no task failed at all, low for "
            "a bare exit code and where nothing was recorded of a cluster. Silent where a task's error reached the driver, wrapped or not."
        ),
        remedy="Mend the line that is named.",
        before='df = dd.read_parquet("s3://bucket/2026-13/")',
        after='df = dd.read_parquet("s3://bucket/2026-12/")',
    ),
)

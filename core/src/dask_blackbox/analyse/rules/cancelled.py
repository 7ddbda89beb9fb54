"""Did somebody cancel the work, restart the cluster, or press Ctrl-C?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import raised_apart_from_dask
from dask_blackbox.analyse.hang import ENDED_BY_US
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, counted, short
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["CANCELLED"]

_CLOSED, _AT_ONCE = "nanny-close", 5.0
_WHO_CLOSES = (
    "Find who closes it: `cluster.close()`, the end of a `with LocalCluster(…)`, or "
    "`client.shutdown()`, in the run itself or beside it. Fetch results before."
)
_CLASSES = ("FutureCancelledError", "CancelledError", "FuturesCancelledError")
_NO_REASON = "unknown"  # Dask's own word
_REASON = r"(?P<key>\S+) cancelled for reason: (?P<reason>[^\n.]+)\.?(?P<more>[^\n]*\n?[^\n]*)"


_UNSAID = (
    "Find who cancelled it: `future.cancel()`, `client.cancel(…)`, or a future that was "
    "released while another still needed it. `cancel` takes a `reason`, which is told then."
)
_ASKED = r"^Client (?P<client>\S+) requests to cancel (?P<number>\d+) keys"


class _Asked(NamedTuple):
    """Who asked the scheduler to cancel something, in sentences."""

    own: bool
    by: str
    told: str
    remedy: str
    evidence: Evidence


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.explained:
        return
    if case.blame.failure is not None:
        if case.blame.failure.killed and _all_were_closed(case, case.blame.failure.at):
            yield _closed_under_work(case, case.blame.failure)
        return
    if case.raised("KeyboardInterrupt"):
        yield _interrupted(case)
        return
    if case.said(ENDED_BY_US):
        return  # our own option ended it: that is a hang
    said = case.said(_REASON)
    if said or _of_an_executor(case):
        yield _of_futures(case, said)
        return
    if _is_another_matter(case) or not case.raised(*_CLASSES):
        return
    yield _of_futures(case, said)


def _of_futures(case: Case, said: re.Match[str] | None) -> Finding:
    reason = said["reason"].strip() if said else _NO_REASON
    key = said["key"] if said else (case.exception.key if case.exception else None)
    asked = _who_asked(case, key)
    key = key or (_last_cancelled(case) if asked else None)
    restarted = case.run.details("cluster-restarted")
    closed = bool(case.run.details("scheduler-closing"))
    title, remedy = _what_happened(
        reason, asked, restarted=bool(restarted), closed=closed
    )
    return CANCELLED.found(
        title,
        cause=(
            (f"'{short(key, 80)}' was cancelled" if key else "Futures were cancelled")
            + (
                " without a reason."
                if reason == _NO_REASON
                else f" for the reason “{short(reason, 160)}”."
            )
            + (asked.told if asked else "")
        ),
        remedy=remedy,
        confidence="high" if said else "medium",
        retry_advice="unknown"
        if (reason == _NO_REASON and closed) or (asked and asked.own)
        else None,
        subject=Subject(key=key, prefix=case.prefix_of(key) if key else None),
        evidence=(
            *case.exception_evidence(),
            *([asked.evidence] if asked else ()),
            *(
                Evidence(
                    text="The cluster was restarted.",
                    source="events",
                    at=fact["at"].timestamp(),
                )
                for fact in restarted[-1:]
            ),
        ),
    )


def _what_happened(
    reason: str, asked: _Asked | None, *, restarted: bool, closed: bool
) -> tuple[str, str]:
    """Return the title, and what to do."""
    if reason == "scheduler-restart" or (reason == _NO_REASON and restarted):
        remedy = (
            "Find who calls `client.restart()` on this cluster; don't share a cluster "
            "between runs that restart it. Then try again."
        )
        return "The cluster was restarted while the run was at work", remedy
    if reason == _NO_REASON and closed:
        title = "The cluster was closed while the run still wanted its work"
        return title, _WHO_CLOSES
    title = f"The work was cancelled{asked.by if asked else ''}"
    title += "" if reason == _NO_REASON else f": {short(reason, 60)}"
    return title, asked.remedy if asked else _UNSAID


def _who_asked(case: Case, key: str | None) -> _Asked | None:
    """Return who asked the scheduler to cancel a key, as it logs that."""
    logs = case.run.logs.filter(pl.col("role") == "scheduler")
    done = logs["message"].str.starts_with(f"Scheduler cancels key {key}.")
    if key is not None and not done.any():
        return None
    logs = logs.filter(pl.col("message").str.contains(_ASKED))
    found = None
    for row in logs.sort("at").tail(1).iter_rows(named=True):
        found = re.match(_ASKED, row["message"])
    if found is None:
        return None
    client, number = found["client"], int(found["number"])
    own = client in {fact.get("client") for fact in case.run.details("driver-attached")}
    in_a_task = client.startswith("Client-worker-")
    if own:
        by, who = " by the run's own driver", "the driver's own client"
        remedy = (
            "Find `future.cancel()` or `client.cancel(…)` in the job's own code: a "
            "watchdog, a time limit, or what cleans up after an error. Give it a `reason`, "
            "which is told here then."
        )
    elif in_a_task:
        by, who = " by one of its tasks", f"a client inside of a task ({client})"
        remedy = (
            "Find `cancel` in what the tasks do with `worker_client` or `get_client`."
        )
    else:
        by, who = " by another client of the cluster", f"another client, {client}"
        remedy = (
            f"Find whose client {client} was, another program on this cluster or a second "
            "client of the job: it cancelled what this run wanted (`client.cancel(…, "
            "force=True)`). Don't share a cluster with it. Then try again."
        )
    at = row["at"].timestamp()
    return _Asked(
        own=own,
        by=by,
        told=f" {who[0].upper()}{who[1:]} had asked for that ({counted(number, 'key')}).",
        remedy=remedy,
        evidence=Evidence(text=short(row["message"], 200), source="logs", at=at),
    )


def _last_cancelled(case: Case) -> str | None:
    """Return a key that the scheduler cancelled, as it logs that."""
    logs = case.run.logs.filter(pl.col("role") == "scheduler").sort("at")
    keys = logs["message"].str.extract(r"^Scheduler cancels key (\S+?)\. ").drop_nulls()
    return str(keys[-1]) if len(keys) else None


def _of_an_executor(case: Case) -> bool:
    """Say whether futures of `client.get_executor()` were cancelled, which carry no word."""
    exception = case.exception
    return (
        exception is not None
        and exception.exception == "concurrent.futures._base.CancelledError"
        and _who_asked(case, None) is not None
    )


def _is_another_matter(case: Case) -> bool:
    """Say whether it was a timeout, which cancels what it waited for, or nothing of Dask's."""
    if case.exception is None:
        return False
    timeout = class_of(case.exception.exception).endswith(("TimeoutError", "Timeout"))
    return timeout or raised_apart_from_dask(case.exception.traceback)


def _all_were_closed(case: Case, moment: float) -> bool:
    """Say whether around then all workers left because their cluster object closed them."""
    if case.deaths:
        return False
    lives = case.run.workers.with_columns(pl.col("left").dt.epoch("us") / 1e6)
    there = lives.filter(
        pl.col("left").is_null() | (pl.col("left") > moment - _AT_ONCE)
    )
    closed = there.filter(
        pl.col("closing").fill_null("").str.starts_with(_CLOSED)
        & (pl.col("left") < moment + _AT_ONCE)
    )
    return 0 < len(there) == len(closed)


def _closed_under_work(case: Case, failure: TaskFailure) -> Finding:
    number = len(case.run.workers)
    who = "Its only worker was" if number == 1 else f"All {number} workers were"
    return CANCELLED.found(
        "The cluster was closed while the run still wanted its work",
        cause=(
            f"{who} asked to close "
            f"({_CLOSED}) while '{short(failure.key, 80)}' and others were still to be "
            "done: Dask took that for workers that die, and gave the task up. No worker "
            "has died."
        ),
        remedy=_WHO_CLOSES,
        confidence="medium",
        retry_advice="unknown",
        subject=Subject(key=failure.key, prefix=failure.prefix),
        evidence=case.exception_evidence(),
    )


def _interrupted(case: Case) -> Finding:
    where = ""
    if case.exception is not None and case.exception.file:
        where = f" The driver was at {case.exception.file}:{case.exception.line}."
    stood = f" {stall}" if (stall := case.stall()) is not None else ""
    name = class_of(case.exception.exception) if case.exception else "KeyboardInterrupt"
    return CANCELLED.found(
        "The driver was interrupted (Ctrl-C or SIGINT)",
        cause=f"The driver got {name}: someone, or the host, stopped it.{where}{stood}",
        remedy="If nobody did it by hand, see which timeout of the host sends SIGINT.",
        confidence="high",
        evidence=case.exception_evidence(),
    )


CANCELLED = Rule(
    slug="cancelled",
    title="The work was cancelled",
    question="Did somebody cancel the futures, restart the cluster or interrupt the driver?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "Futures that the driver waited for were cancelled, the cluster was restarted "
            "under it, or the driver itself was interrupted."
        ),
        evidence=(
            "The driver's exception with the reason that Dask gives, the client whose request "
            "the scheduler logged (the driver's own, or another), and the cluster's "
            "restart event. Silent where the scheduler was lost or data was lost, which "
            "Dask reports as cancellations too, and where `blackbox.stall.end-run` cancelled."
        ),
        remedy="Find who cancelled; give `reason=` when you cancel.",
        before="client.cancel(futures)",
        after='client.cancel(futures, reason="superseded", msg="a newer run took over")',
    ),
)

"""Did the driver's process vanish?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang import AtWork
from dask_blackbox.analyse.hang_evidence import evidence_of_stack
from dask_blackbox.analyse.memory import how_the_scheduler_grew
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.signals import CRASHES
from dask_blackbox.analyse.standing import Standing, evidence_of_standing
from dask_blackbox.analyse.state import (
    ASKED,
    exit_code_of_driver,
    last_sign_of_life,
    signal_of_driver,
)
from dask_blackbox.analyse.words import counted, duration, quoted, short
from dask_blackbox.finding import Confidence, Evidence, Finding, RetryAdvice, Subject

__all__ = ["DRIVER_KILLED"]

_WAITS = ("gather", "result", "compute", "wait")


_RECENT, _STOOD = 120.0, 10.0
_KERNEL = "The kernel's counter of out-of-memory kills went up where the driver ran. "
_SEE = (
    "See what the host says of that moment (`dmesg`, `OOMKilled`, exit code 137). If it was "
    "for memory, this helps. "
)
_MORE_MEMORY = (
    "Give the driver's container more memory, or the driver less to hold: write results from "
    "the workers (`to_parquet`, `to_zarr`) or reduce them there, rather than gather them; no "
    "large data in the driver's own code. Workers of a `LocalCluster` share the container."
)


def _ask(case: Case) -> Iterator[Finding]:
    if case.state not in ("aborted", "lost") or case.explained:
        return
    ended = next(iter(case.run.details("driver-ended")[-1:]), {})
    lost = next(iter(case.run.details("driver-lost")[-1:]), {})
    code, by = exit_code_of_driver(case.run), signal_of_driver(case.run)
    itself = "" if by or code is None else f" with exit code {code}"
    both = case.state == "lost"
    by_kernel = by == "SIGKILL" and _kernel_kills(case, ended, lost) > 0
    grown = "" if by_kernel or by != "SIGKILL" else _grown(case)
    after = duration(max(last_sign_of_life(case.run) - case.run.manifest.started, 0))
    title = _title(by, itself, both=both, by_kernel=by_kernel)
    sure: Confidence = "high" if by or (lost and not both) else "medium"
    # Somebody's patience may have ended, and what it waited for is the cause.
    stood = _scheduler_stood_for(case)
    waited = by in ASKED and (
        case.hang is not None
        or stood is not None
        or not case.saw_the_cluster
        or _in_vain(case)
    )
    if waited:
        sure = "medium"
    longest = case.hang.executing[0] if case.hang and case.hang.executing else None
    yield DRIVER_KILLED.found(
        f"{title} after {after}{_while(longest)}",
        cause=(
            (
                "Neither the driver nor its recorder had time for a word: the machine, pod or "
                "container that both ran in was stopped"
                if both
                else f"The driver's process ended{f' by {by}' if by else itself} without "
                "raising an exception and without saying goodbye"
            )
            + f", {after} after the start. {_KERNEL if by_kernel else grown}{_then(case)}"
            + _at_work(case, longest)
            + _stood_still(stood)
            + _stood_at(case.driver_stood)
        ),
        remedy=(_SEE if grown else "") + _MORE_MEMORY
        if by_kernel or grown
        else _remedy(case, by, longest),
        confidence=sure,
        retry_advice=_advice(by, by_kernel=by_kernel or bool(grown), waited=waited),
        subject=None
        if longest is None
        else Subject(key=longest.key, prefix=longest.prefix, worker=longest.worker),
        evidence=(
            *_evidence(ended, lost),
            *(evidence_of_stack(case, longest) if longest else ()),
            *([evidence_of_standing(case.driver_stood)] if case.driver_stood else ()),
        ),
    )


def _grown(case: Case) -> str:
    """Return a sentence on the memory of a driver that was its scheduler's process, too."""
    own = {fact.get("pid") for fact in case.run.details("driver-attached")} - {None}
    if not own & {fact.get("pid") for fact in case.run.details("scheduler-info")}:
        return ""
    grown = how_the_scheduler_grew(case.run)
    return (
        f"Its memory had {grown}: it was probably killed by the kernel, though no counter "
        "that we see says so. "
        if grown
        else ""
    )


def _title(by: str | None, itself: str, *, both: bool, by_kernel: bool) -> str:
    if both:
        return "Driver and recorder vanished together"
    if by_kernel:
        return "The kernel's out-of-memory killer took the driver"
    if by in CRASHES:
        return f"The driver crashed in native code ({by})"
    if by:
        return f"The driver was ended by {by}"
    return (
        f"The driver's process ended itself{itself}"
        if itself
        else "The driver vanished"
    )


def _advice(by: str | None, *, by_kernel: bool, waited: bool) -> RetryAdvice | None:
    if by_kernel:
        return "memory"
    if by in CRASHES:
        return "code"
    return "unknown" if waited else None


def _of_prefixes(case: Case) -> str:
    graphs = case.run.details("graph-updated")
    prefixes = graphs[-1].get("prefixes") if graphs else None
    return f" of {quoted(list(prefixes))}" if prefixes else ""


def _in_the_driver(case: Case) -> bool:
    """Say whether workers were threads of the driver (`processes=False`)."""
    workers = case.run.workers["address"].to_list()
    return any(str(address).startswith("inproc://") for address in workers)


def _remedy(case: Case, by: str | None, longest: AtWork | None) -> str:
    if by in CRASHES:
        where = (
            "Its workers were threads of its own process (`processes=False`), so a task"
            f"{_of_prefixes(case)} may have crashed it: workers that are processes die "
            "alone, and Dask then names the task. "
            if _in_the_driver(case)
            else "No worker crashed: it was the driver's own code. "
        )
        return (
            f"{where}Look at the compiled libraries that are called there: their versions, "
            "and whether they may be used from several threads. `python -X faulthandler` "
            "prints the line at which it happens."
        )
    slow, what = "If it was stopped because it took too long, look at", ""
    frame = case.driver_stood.own_frame if case.driver_stood else None
    if longest:
        what = f"{slow} what was at work. "
    elif frame and _in_vain(case):
        what = f"{slow} {frame.file}:{frame.line}: no task had ended meanwhile. "
    return (
        what
        + "See what the host says of that moment: an out-of-memory kill (exit code 137, "
        "`OOMKilled`), a timeout or a cancellation by the orchestrator, a node that went "
        "away. If results are gathered into the driver, it needs memory for them."
    )


def _stood_still(stood: float | None) -> str:
    if not stood:
        return ""
    return (
        f" The scheduler had stood still for {duration(stood)} by then: it was "
        "frozen, or out of reach, and whoever waited for it waited in vain."
    )


def _stood_at(standing: Standing | None) -> str:
    """Return at which line of the user's the driver had been, as it told itself."""
    frame = standing.own_frame if standing else None
    if standing is None or frame is None:
        return ""
    code = f" (`{short(frame.code, 80)}`)" if frame.code else ""
    return f" The driver had been at {frame}{code} for {duration(standing.lasted)}."


def _in_vain(case: Case) -> bool:
    """Say whether no task has ended since the driver came to the line where it stood."""
    standing = case.driver_stood
    if standing is None:
        return False
    moments = case.run.tasks["stop"].dt.epoch("us") / 1e6
    since = last_sign_of_life(case.run) - standing.lasted
    return float(moments.max() or 0.0) < since  # type: ignore[arg-type]


def _scheduler_stood_for(case: Case) -> float | None:
    """Return for how long the scheduler had given no sign of life, if it was long."""
    own = case.run.metrics.filter(pl.col("source") == "scheduler")
    moments = (own["at"].dt.epoch("us") / 1e6).sort().to_list()
    if not moments:
        return None
    ends = [
        fact["at"].timestamp()
        for kind in ("driver-lost", "driver-ended")
        for fact in case.run.details(kind)
    ]
    end = min(ends, default=last_sign_of_life(case.run))
    # What froze may have gone on by now.
    moments = [at for at in moments if at > end - _RECENT] + [end]
    longest = max((b - a for a, b in pairwise(sorted(moments))), default=0.0)
    return longest if longest > _STOOD else None


def _kernel_kills(case: Case, ended: dict[str, Any], lost: dict[str, Any]) -> int:
    """Return how often the kernel killed for memory, workers that it killed apart."""
    counted_kills = int(ended.get("oom_kills") or lost.get("oom_kills") or 0)
    return counted_kills - sum(death.signal == "SIGKILL" for death in case.deaths)


def _while(longest: AtWork | None) -> str:
    if longest is None:
        return ""
    busy = duration(longest.executing_for or 0)
    return f", when '{short(longest.prefix, 40)}' had been at work for {busy}"


def _at_work(case: Case, longest: AtWork | None) -> str:
    """Return where the task was for which the driver was waiting, if it was."""
    if longest is None:
        return ""
    at = f", at {longest.own_frame}" if longest.own_frame else ""
    return (
        f" '{short(longest.key, 80)}' had been executing on "
        f"{case.name_of(longest.worker)} for {duration(longest.executing_for or 0)} when "
        f"last looked at{at}: whether it hung or was only slow, nobody can say."
    )


def _waited_for_work(standing: Standing | None) -> bool:
    """Say whether the driver had a client, and stood where it waits for tasks."""
    stack = standing.stack if standing else ()
    return any(
        frame.file.endswith("distributed/client.py") and frame.function in _WAITS
        for frame in stack
    )


def _then(case: Case) -> str:
    sentences = []
    if not case.saw_the_cluster:
        sentences.append(
            "Nothing was recorded of its cluster, for which it was waiting: the scheduler did "
            "not answer the recorder either."
            if _waited_for_work(case.driver_stood)
            else "It had reached no cluster by then: if it was in `Client(…)`, see what "
            "listens at that address."
        )
    if case.deaths:
        sentences.append(f"{counted(len(case.deaths), 'worker')} had died by then.")
    if case.failures:
        keys = quoted([failure.key for failure in case.failures])
        sentences.append(f"Failed by then: {keys}.")
    if (stall := case.stall()) is not None:
        sentences.append(stall)
    last = case.run.logs.filter(case.run.logs["role"] == "driver").tail(1)
    for message in last["message"].to_list():
        sentences.append(f"The last that it said: “{short(message, 200)}”.")  # noqa: PERF401
    return " ".join(sentences) or "No task had failed and no worker had died by then."


def _evidence(ended: dict[str, Any], lost: dict[str, Any]) -> Iterator[Evidence]:
    if ended:
        yield Evidence(
            text=f"The driver ended: state {ended.get('state')}, exit code "
            f"{ended.get('exit_code')}, signal {ended.get('signal')}.",
            source="events",
            at=ended["at"].timestamp(),
        )
    if lost:
        told = {k: v for k, v in lost.items() if k not in ("at", "subject")}
        yield Evidence(
            text=f"The recorder lost the driver: {short(str(told), 200)}",
            source="events",
            at=lost["at"].timestamp(),
        )


DRIVER_KILLED = Rule(
    slug="driver-killed",
    title="The driver's process vanished",
    question="Did the process that drives the run end without a word?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "The driver was killed (SIGKILL, out of memory, a stopped pod, an orchestrator's "
            "timeout) before it could say how it ended. If the recorder went with it, the "
            "state is `lost`."
        ),
        evidence=(
            "The recorder, a process of its own, noticed that the driver was gone; or the "
            "recording's heartbeat is stale. Silent on every ending that an exception or an "
            "exit code explains."
        ),
        remedy="Look at the host's events; don't gather what does not fit.",
        before="frame = ddf.compute()   # 30 GiB into a driver of 4 GiB",
        after='ddf.to_parquet("s3://bucket/result/")',
    ),
)

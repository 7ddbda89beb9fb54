"""Were workers given up because they did not answer any more?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.obituary import (
    deaths_blamed_on,
    verdict_on_deaths,
    where_it_was,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import duration
from dask_blackbox.finding import Finding

__all__ = ["WORKER_HEARTBEAT_TIMEOUT"]


_STOPPED = (
    "Its process was not busy, it was stopped: a machine or container that was paused, a "
    "batch system that suspends jobs, SIGSTOP or a debugger. Find who does that; then try again."
)


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_HEARTBEAT_TIMEOUT.slug)
    if not deaths:
        return
    waited = max((death.frozen_for or 0.0 for death in deaths), default=0.0)
    patience = f" of {duration(waited)}" if waited else ""
    yield from verdict_on_deaths(
        case,
        WORKER_HEARTBEAT_TIMEOUT,
        deaths,
        did="froze",
        how="and stopped answering",
        more=where_it_was(deaths),
        remedy=_STOPPED
        if all(death.alive == "stopped" for death in deaths)
        else (
            "Code in the task held Python's global lock (or the host stood still: swapping, a "
            f"paused machine) for longer than the patience{patience}. Call a version "
            "that releases the lock, or do it in pieces; if it must take that long, raise "
            "`distributed.scheduler.worker-ttl`"
            + (f" to more than {duration(2 * waited)}." if waited else ".")
        ),
    )


WORKER_HEARTBEAT_TIMEOUT = Rule(
    slug="worker-heartbeat-timeout",
    title="Workers froze and were given up",
    question="Did the run fail because workers stopped sending heartbeats?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "The scheduler heard nothing from a worker for longer than `worker-ttl`, and had "
            "its nanny end it."
        ),
        evidence=(
            "The scheduler's `worker-ttl-timed-out` event, or the reason that the nanny was "
            "given (`check-worker-ttl`), joined with the removal."
        ),
        remedy="Release the global lock, or raise `distributed.scheduler.worker-ttl`.",
        before="re.match(catastrophic_pattern, text)   # minutes inside one C call",
        after="for part in parts:\n    linear_pattern.match(part)",
    ),
)

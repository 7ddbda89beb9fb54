"""Did the workers' processes abort themselves?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.obituary import (
    deaths_blamed_on,
    verdict_on_deaths,
    where_it_was,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.finding import Finding

__all__ = ["WORKER_ABORT"]


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_ABORT.slug)
    if not deaths:
        return
    yield from verdict_on_deaths(
        case,
        WORKER_ABORT,
        deaths,
        did="aborted",
        how="with SIGABRT",
        more=where_it_was(deaths),
        remedy=(
            "A compiled library called abort(): a failed assertion, an uncaught C++ "
            "exception, or a corrupted heap. What it printed is in the worker's stderr: "
            f"`{case.see('logs', '--worker', deaths[-1].address)}`. Upgrade or pin that "
            "library."
        ),
    )


WORKER_ABORT = Rule(
    slug="worker-abort",
    title="Workers aborted themselves",
    question="Did the run fail because workers called abort()?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "A worker's process ended itself with SIGABRT: `abort()` in C, `std::terminate` "
            "in C++, a failed assertion, a heap that its allocator found corrupted."
        ),
        evidence=(
            "The exit signal that the nanny saw, what the worker was executing, and "
            "Python's stack at that moment where it could be written."
        ),
        remedy="Read the worker's last lines; upgrade or pin the library that aborted.",
        before="os.abort()",
        after='raise RuntimeError("a sentence that reaches the client")',
    ),
)

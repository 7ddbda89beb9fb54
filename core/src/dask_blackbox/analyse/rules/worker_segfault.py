"""Did native code crash the workers?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.deaths import Death
from dask_blackbox.analyse.obituary import (
    deaths_blamed_on,
    verdict_on_deaths,
    where_it_was,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.finding import Finding

__all__ = ["WORKER_SEGFAULT"]


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_SEGFAULT.slug)
    if not deaths:
        return
    where = where_it_was(deaths)
    look = (
        "Look at the compiled library that is called there: "
        if where
        else "Look at the compiled libraries that the task calls: "
    )
    yield from verdict_on_deaths(
        case,
        WORKER_SEGFAULT,
        deaths,
        did="crashed",
        how=f"in native code ({deaths[-1].signal})",
        more=where or _no_stack(deaths),
        remedy=(
            f"{look}its version, whether it is safe to use from several threads (try "
            "threads_per_worker=1), and whether it was built for this machine. Trying "
            "again as it is will most likely crash again."
        ),
    )


def _no_stack(deaths: tuple[Death, ...]) -> str:
    """Return what it means that no stack was written, though they are recorded."""
    if any(death.stack for death in deaths) or not any(d.certified for d in deaths):
        return ""
    return (
        "Python's stack could not be written at the crash, which points to a stack that was "
        "overrun itself: very deep recursion in native code, such as `repr`, pickling or "
        "parsing of data that is nested very deeply, with `sys.setrecursionlimit` raised."
    )


WORKER_SEGFAULT = Rule(
    slug="worker-segfault",
    title="Native code crashed the workers",
    question="Did the run fail because workers crashed (SIGSEGV and its kin)?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "A worker's process was ended by SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGTRAP: a compiled "
            "library touched memory that was not its own, or was built for another machine."
        ),
        evidence=(
            "The exit signal that the nanny saw, what the worker was executing, and "
            "Python's stack at the crash where it could be written. Silent on workers that "
            "were killed from outside."
        ),
        remedy=(
            "Find the compiled library in the stack; pin or upgrade it; run one thread per "
            "worker if it is not thread-safe."
        ),
        before="LocalCluster(threads_per_worker=8)   # with a library that is not thread-safe",
        after="LocalCluster(threads_per_worker=1, n_workers=8)",
    ),
)

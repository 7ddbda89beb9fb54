"""Did workers die at their memory limit?

The nanny of a worker terminates it at 95 % of its limit.  The client only hears that a
worker vanished; what proves the cause is the nanny's own word just before.
"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.left_behind import left_behind
from dask_blackbox.analyse.memory import memory_need
from dask_blackbox.analyse.obituary import (
    deaths_blamed_on,
    verdict_on_deaths,
    where_it_was,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import size
from dask_blackbox.finding import Finding

__all__ = ["WORKER_MEMORY_LIMIT"]


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_MEMORY_LIMIT.slug)
    if not deaths:
        return
    need = memory_need(case, deaths)
    limit = f"{size(need.limit)} " if need.limit else ""
    left = left_behind(case, deaths[-1])
    more = (left.told() if left else "", where_it_was(deaths))
    whose = "its" if len(deaths) == 1 else "their"
    yield from verdict_on_deaths(
        case,
        WORKER_MEMORY_LIMIT,
        deaths,
        did="died",
        how=f"at {whose} {limit}memory limit",
        more=" ".join(sentence for sentence in more if sentence),
        remedy=left.advice() if left else need.advice(),
    )


WORKER_MEMORY_LIMIT = Rule(
    slug="worker-memory-limit",
    title="Workers died at their memory limit",
    question="Did the run fail because nannies terminated workers at their memory limit?",
    severity="failure",
    retry_advice="memory",
    ask=_ask,
    page=Page(
        detects=(
            "A worker grew over 95 % of its `memory_limit`, and its nanny terminated it. "
            "Dask tries the task on other workers, which die in turn, and then raises "
            "`KilledWorker`, which does not say why."
        ),
        evidence=(
            "The nanny's `worker-restart-memory` event or its log line "
            "(“exceeded 95% memory budget”), joined with the removal of the worker within "
            "five seconds, its last memory samples, and what it was executing; what tasks "
            "before it had left there is told apart. Without "
            "those, a SIGTERM at 90 % of the limit counts with medium confidence. Silent "
            "where the run succeeded, or failed of something else: see `workers-died`."
        ),
        remedy=(
            "Give each worker more memory, run fewer tasks at once on it, or make the "
            "pieces smaller. For `groupby` and `merge`, `split_out=` spreads the result over "
            "several partitions."
        ),
        before='LocalCluster(n_workers=4, threads_per_worker=4, memory_limit="2 GiB")',
        after='LocalCluster(n_workers=2, threads_per_worker=2, memory_limit="8 GiB")',
    ),
)

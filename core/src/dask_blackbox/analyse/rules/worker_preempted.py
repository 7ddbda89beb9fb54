"""Did the workers' hosts tell them to stop?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.obituary import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.finding import Finding

__all__ = ["WORKER_PREEMPTED"]


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_PREEMPTED.slug)
    if not deaths:
        return
    yield from verdict_on_deaths(
        case,
        WORKER_PREEMPTED,
        deaths,
        did="left",
        how="because the host told it to"
        if len(deaths) == 1
        else "because their hosts told them to",
        remedy=(
            "Nothing is wrong with the task. Trying again helps; if it happens often, let "
            "workers leave in time (`--lifetime` below the walltime, with "
            "`--lifetime-stagger`), and raise `distributed.scheduler.allowed-failures` above "
            f"{max(len(deaths) - 1, 3)}, because Dask counts such departures against the task."
        ),
    )


WORKER_PREEMPTED = Rule(
    slug="worker-preempted",
    title="Workers were told to stop by their hosts",
    question="Did the run fail because hosts took their workers away?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "`dask worker` received SIGTERM or SIGINT from outside: a spot notice, a deleted "
            "pod, the walltime of a batch job. Dask counts that against the tasks that were "
            "running, and results on that worker are lost."
        ),
        evidence="The closing reason `signal-15` (or `signal-2`) just before the removal.",
        remedy="Retry; leave before the host says so; raise `allowed-failures`.",
        before="dask worker … # on a node with one hour of walltime",
        after="dask worker … --lifetime 55m --lifetime-stagger 4m",
    ),
)

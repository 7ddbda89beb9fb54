"""Did workers reach the end of their `--lifetime` with work in their hands?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.obituary import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.finding import Finding

__all__ = ["WORKER_LIFETIME"]


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_LIFETIME.slug)
    if not deaths:
        return
    yield from verdict_on_deaths(
        case,
        WORKER_LIFETIME,
        deaths,
        did="left",
        how="at the end of its lifetime"
        if len(deaths) == 1
        else "at the end of their lifetime",
        remedy=(
            "Give workers a `--lifetime` that is longer than the longest task, with "
            "`--lifetime-stagger` so that they don't all leave at once, and "
            "`--lifetime-restart` so that others can take over their data."
        ),
    )


WORKER_LIFETIME = Rule(
    slug="worker-lifetime",
    title="Workers reached the end of their lifetime",
    question="Did the run fail because workers' lifetime ended while they were at work?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "A worker's `--lifetime` ended, nobody could take over its data, and the task that "
            "it was running was killed."
        ),
        evidence=(
            "The closing reason `worker-lifetime-reached` and a removal that the scheduler "
            "did not expect. Silent where the worker could hand everything on."
        ),
        remedy="Longer lifetimes, staggered, with restart.",
        before="dask worker … --lifetime 5m",
        after="dask worker … --lifetime 1h --lifetime-stagger 5m --lifetime-restart",
    ),
)

"""Did workers vanish together with their nannies?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.obituary import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import listed
from dask_blackbox.finding import Finding

__all__ = ["WORKER_HOST_LOST"]

_FULL = (
    "Memory was high, or climbing steeply, when that happened, and a container that is full "
    "may be killed as a whole, nanny included: Dask's own limit has to be well below the container's "
    "(`--memory-limit`). "
)
_AGAIN = " Trying again helps unless the pod was killed for memory."


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_HOST_LOST.slug)
    if not deaths:
        return
    full = [death for death in deaths if death.was_full]
    of_memory = 2 * len(full) > len(deaths)
    hosts = sorted({death.host for death in deaths if death.host})
    yield from verdict_on_deaths(
        case,
        WORKER_HOST_LOST,
        deaths,
        did="vanished",
        how="together with its nanny"
        if len(deaths) == 1
        else "together with their nannies",
        remedy=(
            (_FULL if of_memory else "")
            + f"Ask the platform what happened to {listed(hosts) if hosts else 'the host'}: a "
            "pod that was evicted or killed for memory (`kubectl describe pod`: OOMKilled, "
            "exit code 137), a node that went away, a network that was cut."
            + ("" if of_memory else _AGAIN)
        ),
        retry_advice="memory" if of_memory else None,
    )


WORKER_HOST_LOST = Rule(
    slug="worker-host-lost",
    title="Workers vanished together with their nannies",
    question="Did the run fail because whole hosts or pods vanished?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "A worker and the nanny that watches it fell silent at the same moment: the pod, "
            "the node or the network went."
        ),
        evidence=(
            "A removal without a death certificate although the worker had a nanny and the "
            "recording went on for more than five seconds, and no sign of life from that "
            "nanny since: high confidence where nobody answers at its address. Its memory "
            "curve says whether the pod was probably killed for memory."
        ),
        remedy="Look at the platform's own events for that pod or node.",
        before="resources: {limits: {memory: 4Gi}}   # dask worker --memory-limit 4GiB",
        after="resources: {limits: {memory: 4Gi}}   # dask worker --memory-limit 3.6GiB",
    ),
)

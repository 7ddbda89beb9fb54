"""Did the kernel's out-of-memory killer take workers?

It sends SIGKILL, so nobody hears a word; its counter in the worker's cgroup goes up.
"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.left_behind import left_behind
from dask_blackbox.analyse.memory import memory_need
from dask_blackbox.analyse.obituary import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import size
from dask_blackbox.finding import Finding

__all__ = ["KERNEL_OOM"]


def _ask(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, KERNEL_OOM.slug)
    if not deaths:
        return
    need = memory_need(case, deaths, met_its_limit=False)
    seen = f" (last seen with {size(need.seen)})" if need.seen else ""
    limit = (
        f"Dask's own limit of {size(need.limit)} was above what the container or host "
        "has, so Dask never spilled or paused in time. Set `memory_limit` below the "
        "container's limit, and give the container more: "
        if need.limit
        else "Dask had no limit to go by: set `memory_limit` below the container's, and "
    )
    guessed = not any(death.oom_kills for death in deaths)
    if guessed:
        limit = (
            "See what the host says of that moment (`dmesg`, `OOMKilled`, exit code 137). "
            f"If it was for memory: {limit}"
        )
    left = left_behind(case, deaths[-1])
    yield from verdict_on_deaths(
        case,
        KERNEL_OOM,
        deaths,
        did="died",
        more=left.told() if left else "",
        how=f"by the kernel's out-of-memory killer, probably{seen}"
        if guessed
        else f"by the kernel's out-of-memory killer{seen}",
        remedy=f"{limit}start with {size(need.wanted)} for each worker"
        + (", twice what one was seen with." if need.seen else ".")
        + (f" {left.advice()}" if left else ""),
    )


KERNEL_OOM = Rule(
    slug="kernel-oom",
    title="The kernel's out-of-memory killer took workers",
    question="Did the run fail because the kernel killed workers for memory?",
    severity="failure",
    retry_advice="memory",
    ask=_ask,
    page=Page(
        detects=(
            "A worker's process was killed by the operating system because the container "
            "or the host had no memory left, before Dask's own limit was reached."
        ),
        evidence=(
            "SIGKILL, together with a rise of the `oom_kill` counter of the worker's "
            "cgroup (versions 1 and 2): high confidence. SIGKILL at 90 % of the worker's "
            "memory limit, or while its memory climbed, without that counter: medium; so is a "
            "worker without nanny that vanished then. Silent where the nanny itself "
            "terminated the worker."
        ),
        remedy=(
            "Keep `memory_limit` below the container's limit, so that Dask spills and "
            "pauses first; then give the container what the work needs."
        ),
        before="dask worker … --memory-limit 0        # in a container of 4 GiB",
        after="dask worker … --memory-limit 3.6GiB   # in a container of 4 GiB",
    ),
)

"""Workloads, and the list of the healthy ones, which their modules put into it.

Workers import this too, so it imports nothing of ours.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "COMMANDS",
    "HEALTHY",
    "IN_PROCESS",
    "NOTHING",
    "WITHOUT_NANNIES",
    "Workload",
    "healthy",
    "local",
]

Job = TypeVar("Job", bound=Callable[..., Any])

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Workload(NamedTuple):
    """A job, the cluster that it runs on, and what is true of it.

    Attributes:
        run: Does it, given a client and the folder of the data.
        must: Findings that must be there.
        may: Findings that may be there too, as they are true.
        cluster: Arguments of `LocalCluster`; or `processes` and options of `dask worker`.
        settings: Of `dask.config`.
        needs: Makes its data in a folder, unless they are there.
        alone: It leaves its cluster in a state that nobody else should find.
        nights: It is reported once with each of these as arguments, and as its parameters.
        libraries: Modules without which it cannot be reported.
        fixed: Does the same, without what is wrong with it.
        elsewhere: A cluster on which nothing is wrong with it.
        whole: It brings clusters and recordings of its own, and is given a `Stage`.
        set: Its set; what was found first in those of sets 2 and 3 is in `docs/diagnosis.md`.
    """

    run: Callable[..., Any]
    must: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    cluster: Mapping[str, Any] = NOTHING
    settings: Mapping[str, Any] = NOTHING
    alone: bool = False
    needs: Callable[[Path], None] | None = None
    nights: tuple[Mapping[str, Any], ...] = (NOTHING,)
    libraries: tuple[str, ...] = ()
    fixed: Callable[..., Any] | None = None
    elsewhere: Mapping[str, Any] | None = None
    whole: bool = False
    set: int = 0

    @property
    def missing(self) -> list[str]:
        """The libraries that are not here."""
        return [n for n in self.libraries if importlib.util.find_spec(n) is None]


def local(
    n_workers: int, threads: int = 1, memory_limit: str | int = "2GiB"
) -> Mapping[str, Any]:
    """Return the arguments of a `LocalCluster`."""
    return {
        "n_workers": n_workers,
        "threads_per_worker": threads,
        "memory_limit": memory_limit,
    }


COMMANDS: Mapping[str, Any] = {
    "n_workers": 2,
    "processes_of": ("--memory-limit", "2GiB"),
}
"""A cluster of `dask scheduler` and `dask worker`."""

WITHOUT_NANNIES: Mapping[str, Any] = {
    "n_workers": 2,
    "processes_of": ("--no-nanny", "--memory-limit", "2GiB"),
}
IN_PROCESS: Mapping[str, Any] = {
    "processes": False,
    "n_workers": 1,
    "threads_per_worker": 2,
}

HEALTHY: dict[str, Workload] = {}
"""By the name of the job."""


def healthy(**fields: Any) -> Callable[[Job], Job]:
    """Put a job into the list of those of which nothing may be found but `may`.

    Args:
        fields: Of its `Workload`.
    """

    def put(run: Job) -> Job:
        if run.__name__ in HEALTHY:
            raise ValueError(f"two healthy workloads are called {run.__name__}")
        HEALTHY[run.__name__] = Workload(run, **fields)
        return run

    return put

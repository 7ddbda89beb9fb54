"""Healthy runs of real workloads, of which nothing may be found.

python tests/recordings/healthy.py [NAME …] [--store FOLDER] [--diagnose-only]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from healthy_arrays import ARRAYS, make_images
from healthy_frames import FRAMES, make_tables
from healthy_tasks import TASKS, make_texts
from workload import NOTHING, Workload, main

__all__ = ["HEALTHY"]

_ONE_OF_TWO = {"n_workers": 1, "threads_per_worker": 2, "memory_limit": "4GiB"}
_TWO_OF_TWO = {"n_workers": 2, "threads_per_worker": 2, "memory_limit": "3GiB"}
_THREE = {"n_workers": 3, "threads_per_worker": 1, "memory_limit": "2GiB"}
_DASK_WORKER = {"n_workers": 2, "processes_of": ("--memory-limit", "2GiB")}
_NO_NANNY = {"n_workers": 2, "processes_of": ("--no-nanny", "--memory-limit", "2GiB")}
_IN_PROCESS = {"processes": False, "n_workers": 1, "threads_per_worker": 2}
_MANY_THREADS = {"n_workers": 1, "threads_per_worker": 16, "memory_limit": "2GiB"}

_SHAPES = (NOTHING, _ONE_OF_TWO, _TWO_OF_TWO, _DASK_WORKER, _THREE)
_OWN: Mapping[str, Mapping[str, Any]] = {
    "fetched_with_many_threads": _MANY_THREADS,
    "simulated": _DASK_WORKER,
    "words_counted": _NO_NANNY,
    "paid_by_user": _THREE,
    "searched_parameters": _NO_NANNY,
    "quick_sum": _IN_PROCESS,
    "spectra": _IN_PROCESS,
    "one_task": {"n_workers": 1},
}


_NEED_TEXTS = ("words_counted", "paid_by_user")


def _cluster(name: str, n: int) -> Mapping[str, Any]:
    return _OWN.get(name, _SHAPES[n % len(_SHAPES)])


HEALTHY: dict[str, Workload] = {
    **{
        each.__name__: Workload(
            each, cluster=_cluster(each.__name__, n), needs=make_tables
        )
        for n, each in enumerate(FRAMES)
    },
    **{
        each.__name__: Workload(
            each,
            cluster=_cluster(each.__name__, n),
            needs=make_images if "images" in each.__name__ else None,
        )
        for n, each in enumerate(ARRAYS)
    },
    **{
        each.__name__: Workload(
            each,
            cluster=_OWN.get(each.__name__, NOTHING),
            needs=make_texts if each.__name__ in _NEED_TEXTS else None,
        )
        for each in TASKS
    },
}
"""By the name of the job."""

if __name__ == "__main__":
    sys.exit(main(__file__, HEALTHY))

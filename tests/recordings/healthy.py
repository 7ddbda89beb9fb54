"""Healthy runs of real workloads, of which nothing may be found.

python tests/recordings/healthy.py [NAME …] [--store FOLDER] [--again]
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
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


def prepare(data: Path) -> None:
    """Make what the workloads read, and remove what the last one wrote."""
    make_tables(data)
    make_images(data / "images")
    make_texts(data / "texts")
    for written in data.glob("out-*"):
        shutil.rmtree(written)


HEALTHY: dict[str, Workload] = {
    each.__name__: Workload(
        each,
        cluster=_OWN.get(each.__name__, _SHAPES[n % len(_SHAPES)]),
    )
    for n, each in enumerate((*FRAMES, *ARRAYS))
} | {
    each.__name__: Workload(each, cluster=_OWN.get(each.__name__, NOTHING))
    for each in TASKS
}

if __name__ == "__main__":
    sys.exit(main(__file__, HEALTHY, prepare))

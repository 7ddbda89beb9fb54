"""Healthy runs, a third set: written without a look at the rules, reported once.

python tests/recordings/healthy_held_out.py [NAME …] [--store FOLDER] [--diagnose-only]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from healthy_clusters import HOSTS
from healthy_grids import HELD_OUT_GRIDS, make_grids
from healthy_nights import HELD_OUT_NIGHTS
from healthy_queries import HELD_OUT_FRAMES, make_ledgers
from healthy_tasks import HELD_OUT_TASKS, make_texts
from workload import NOTHING, Workload, main

__all__ = ["HELD_OUT"]

_SMALL = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "500MiB"}
_EIGHT = {"n_workers": 2, "threads_per_worker": 8, "memory_limit": "2GiB"}
_ONE_OF_TWO = {"n_workers": 1, "threads_per_worker": 2, "memory_limit": "3GiB"}
_THREE = {"n_workers": 3, "threads_per_worker": 1, "memory_limit": "2GiB"}
_DASK_WORKER = {"n_workers": 2, "processes_of": ("--memory-limit", "2GiB")}

_OWN: Mapping[str, Mapping[str, Any]] = {
    "more_than_fits_held": _SMALL,
    "a_slow_store_read_by_many": _EIGHT,
    **dict.fromkeys(("three_tensors", "moving_windows", "best_supplier"), _ONE_OF_TWO),
    **dict.fromkeys(("shuffled_by_tasks", "first_answer_wins"), _THREE),
    **dict.fromkeys(("trades_with_quotes", "words_of_trouble"), _DASK_WORKER),
}
_XARRAY = (
    "climate_and_its_anomalies", "weighted_means_of_months", "onto_levels",
    "a_year_appended_by_months", "spectra_of_latitudes", "quantiles_of_each_pixel",
)  # fmt: skip
_LIBRARIES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_XARRAY, ("xarray", "zarr", "flox")),
    "segmented_images": ("skimage",),
    "logistic_regression": ("dask_ml",),
    "forest_by_joblib": ("sklearn",),
}
_TRULY: Mapping[str, tuple[str, ...]] = {
    "more_than_fits_held": ("spilling",),  # that is what it does
    "a_service_that_fails_now_and_then": ("retries-hid-errors",),
    # Tasks did fail; the driver counts on it, which nobody can see.
    "a_script_with_errors_of_its_own": ("task-exception",),
    "errors_skipped_by_choice": ("task-exception",),
    "coroutines_as_tasks": ("io-bound",),  # one at a time on each thread
}


def _needs(name: str) -> Callable[[Path], None] | None:
    if name in _XARRAY:
        return make_grids
    if name in {each.__name__ for each in HELD_OUT_FRAMES}:
        return make_ledgers
    return make_texts if name == "tokens_counted" else None


HELD_OUT: dict[str, Workload] = {
    each.__name__: Workload(
        each,
        may=_TRULY.get(each.__name__, ()),
        cluster=_OWN.get(each.__name__, NOTHING),
        needs=_needs(each.__name__),
        nights=HELD_OUT_NIGHTS.get(each, (NOTHING,)),
        libraries=_LIBRARIES.get(each.__name__, ()),
        whole=each in HOSTS,
    )
    for each in (
        *HOSTS,
        *HELD_OUT_TASKS,
        *HELD_OUT_GRIDS,
        *HELD_OUT_FRAMES,
        *HELD_OUT_NIGHTS,
    )
}
"""By the name of the job."""

if __name__ == "__main__":
    sys.exit(main(__file__, HELD_OUT))

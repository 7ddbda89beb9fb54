"""Healthy runs after public suites of benchmarks: none of what is found may be false.

python tests/recordings/healthy_suites.py [NAME …] [--store FOLDER] [--diagnose-only]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from healthy_frames import make_tables
from healthy_grids import GRIDS, make_grids
from healthy_nights import NIGHTS
from healthy_queries import QUERIES, make_shop
from healthy_scripts import SCRIPTS, make_archives
from workload import NOTHING, Workload, main

__all__ = ["SUITES"]

_ONE = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "1GiB"}
_THREADS = {"n_workers": 1, "threads_per_worker": 2, "memory_limit": "3GiB"}
_THREE = {"n_workers": 3, "threads_per_worker": 1, "memory_limit": "2GiB"}
_IN_PROCESS = {"processes": False, "n_workers": 1, "threads_per_worker": 2}
_WITHOUT_LIMIT = {"memory_limit": 0}
_DASK_WORKER = {"n_workers": 2, "processes_of": ("--memory-limit", "2GiB")}
_FETCHING = {"n_workers": 2, "threads_per_worker": 8, "memory_limit": "2GiB"}

_OWN: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("volume_between_nations", "life", "evolving"), _THREE),
    **dict.fromkeys(("profit_by_product", "cumulated", "long_imports"), _DASK_WORKER),
    **dict.fromkeys(("wide_to_files", "vorticity", "notebook"), _THREADS),
    **dict.fromkeys(("one_small_table", "double_difference"), _IN_PROCESS),
    **dict.fromkeys(("large_volume_customers", "coordinated"), _WITHOUT_LIMIT),
    **dict.fromkeys(("shipping_modes", "a_small_map"), _ONE),
    "sum_of_squares_of_disk": _FETCHING,
}
_ALONE = ("scaled_up", "adapted", "restarted_between")
_XARRAY = ("squares_and_their_mean", "anomalies_by_day")
_STORED = (
    "zarr_filtered", "zarr_sliced", "zarr_residuals", "zarr_to_zarr",
    "months_of_weather", "circulation", "pancakes_to_pencils", "regridded",
    "rolling_weather",
)  # fmt: skip
_LIBRARIES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_STORED, ("xarray", "zarr")),
    **dict.fromkeys(_XARRAY, ("xarray",)),
    "labelled_images": ("scipy",),
    "grid_search_by_joblib": ("sklearn",),
    "predicted_in_parallel": ("sklearn",),
    "learnt_piece_by_piece": ("sklearn",),
    "vectors_of_texts": ("sklearn",),
    "trees_boosted": ("xgboost",),
    "nearest_means": ("dask_ml",),
}
_ARCHIVES = ("archives_searched", "vectors_of_texts", "folded_words")
_TABLES = ("night_of_files",)
_TRULY: Mapping[str, tuple[str, ...]] = {
    "objects_collected": ("gc-time",),  # 77 % of its CPU time, without Dask as well
}


def _needs(name: str) -> Any:
    if name in _STORED:
        return make_grids
    if name in _ARCHIVES:
        return make_archives
    if name in _TABLES:
        return make_tables
    return make_shop if name in {each.__name__ for each in QUERIES} else None


SUITES: dict[str, Workload] = {
    each.__name__: Workload(
        each,
        may=_TRULY.get(each.__name__, ()),
        cluster=_OWN.get(each.__name__, NOTHING),
        alone=each.__name__ in _ALONE,
        needs=_needs(each.__name__),
        nights=NIGHTS.get(each, (NOTHING,)),
        libraries=_LIBRARIES.get(each.__name__, ()),
    )
    for each in (*QUERIES, *GRIDS, *SCRIPTS, *NIGHTS)
}
"""By the name of the job."""

if __name__ == "__main__":
    sys.exit(main(__file__, SUITES))

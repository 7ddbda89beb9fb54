"""A run of Dask on Ray, in the environment that has Ray.

    python ray_run.py FOLDER ENDING

starts Ray, and computes a graph with `ray_dask_get` that ends as ENDING says.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any


def load(number: int) -> int:
    """Return a number."""
    return number


def divide(number: int) -> float:
    """Fail for zero."""
    return 10 / number


def die(number: int) -> int:
    """End the worker's process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def main(folder: Path, ending: str) -> None:
    """Compute it."""
    import ray  # type: ignore[import-not-found]
    from dask import delayed
    from ray.util.dask import ray_dask_get  # type: ignore[import-not-found]

    ray.init(
        num_cpus=2, include_dashboard=False, object_store_memory=100 * 2**20,
        _node_ip_address="127.0.0.1", log_to_driver=False, _temp_dir=str(folder),
    )  # fmt: skip
    does: Any = {"good": load, "raises": divide, "killed": die}[ending]
    total = delayed(sum)([delayed(does)(number) for number in range(3)])
    try:
        total.compute(scheduler=ray_dask_get, ray_remote_args={"max_retries": 0})
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

"""A command that masks a secret in its driver, and one in a task."""

from __future__ import annotations

import os
import sys

from dask_blackbox import mask_secret
from distributed import Client, LocalCluster


def use(value: str) -> None:
    """Print a value."""
    print("worker has", value)


def load_and_fail(backwards: str) -> None:
    """Load a value here, print it and raise it."""
    value = backwards[::-1]
    mask_secret(value)
    print("worker loads", value)
    raise ValueError(f"cannot use {value}")


def main() -> None:
    """Use both."""
    first, second = os.environ.pop("PLANTED").split(",")
    with (
        LocalCluster(n_workers=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        mask_secret(first)
        print("driver has", first, file=sys.stderr)
        client.submit(use, first).result()
        client.submit(load_and_fail, second[::-1]).result()


if __name__ == "__main__":
    main()

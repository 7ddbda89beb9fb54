"""A run whose worker has a GPU, as NVML says, of which a task wants more memory than there is.

python nvml_run.py
"""

from __future__ import annotations

import time


class OutOfMemoryError(RuntimeError):
    """As PyTorch raises it."""


def step(number: int) -> int:
    """Take long enough for a sample of the worker."""
    time.sleep(0.05)
    return number


def train(total: int) -> int:
    """Want more memory of the device than is free."""
    raise OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of "
        f"{total}.00 GiB"
    )


def main() -> None:
    """Run the driver."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(step, range(60)))
        client.submit(train, 8).result()


if __name__ == "__main__":
    main()

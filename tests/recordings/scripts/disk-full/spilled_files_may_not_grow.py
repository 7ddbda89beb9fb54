"""Workers must spill, on a host that allows files of 8 MiB."""

import resource
import time

import numpy as np
from dask.distributed import Client


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))


def block(n):
    time.sleep(0.1)
    return np.random.default_rng(n).random(2_500_000)


def total(blocks):
    return sum(float(each.sum()) for each in blocks)


if __name__ == "__main__":
    with Client(
        n_workers=1, threads_per_worker=1, memory_limit="420MiB", dashboard_address=":0"
    ) as client:
        client.run(limit)
        blocks = client.map(block, range(40))
        print([client.submit(np.sum, each).result(timeout=25) for each in blocks])

"""Run the heavy part on an executor of its own."""

import dask
import numpy as np
from dask.distributed import Client


@dask.delayed
def render(n):
    return np.full((10, 10), n).sum()


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        with dask.annotate(executor="gpu"):
            frames = [render(n) for n in range(4)]
        futures = client.compute(frames, optimize_graph=False)
        print(client.gather(futures))

"""Renders weaving patterns; the renderer needs a licence slot that workers offer as a resource."""

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster


def weave(block):
    return np.where(block > 0.5, 1, 0)


def main():
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="400MiB",
        dashboard_address=":0",
        resources={"render_slot": 1},
    ) as cluster:
        with Client(cluster) as client:
            warp = (
                da.random.default_rng(1)
                .random((1200, 1200), chunks=(400, 400))
                .persist()
            )
            sheds = np.random.default_rng(2).random((4, 50, 50))
            futures = [
                client.submit(weave, shed, resources={"render-slot": 1})
                for shed in sheds
            ]
            print("warp", float(warp.mean().compute()))
            done = [f.result(timeout=12) for f in futures]
            print("threads up:", sum(int(d.sum()) for d in done))


if __name__ == "__main__":
    main()

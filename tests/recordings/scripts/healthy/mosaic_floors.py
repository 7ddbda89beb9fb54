"""Measures mosaic floors hall by hall; the workers are renewed between halls."""

import time

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, get_worker


def colour_share(block):
    worker = get_worker()
    worker.floor_blocks = getattr(worker, "floor_blocks", 0) + 1
    return (block > 0.7).astype("float32")


def hall(client, number):
    rng = da.random.default_rng(number)
    floor = rng.random((3000, 3000), chunks=(750, 750))
    share = floor.map_blocks(
        colour_share, dtype="float32", meta=np.empty((0, 0), "float32")
    ).mean()
    return float(client.compute(share).result())


def held(client):
    def count(dask_worker=None):
        return getattr(dask_worker, "floor_blocks", 0)

    return client.run(count)


def main():
    shares = {}
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="600MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            for number in (1, 2, 3):
                client.wait_for_workers(2)
                shares[number] = hall(client, number)
                print(
                    "hall",
                    number,
                    round(shares[number], 4),
                    "blocks seen",
                    sum(held(client).values()),
                )
                if number == 1:
                    client.restart()
                elif number == 2:
                    names = list(client.scheduler_info(n_workers=-1)["workers"])
                    print("restarted:", client.restart_workers(names[:1]))
                    time.sleep(1)
    assert all(abs(share - 0.3) < 0.01 for share in shares.values())
    print("floors done")


if __name__ == "__main__":
    main()

import time

import dask
import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster


def kinship_dense(herd):
    blocks = []
    for k in range(herd):
        blocks.append(np.full((2500, 2000), k, dtype="float64"))
        time.sleep(0.05)
    return float(sum(b[0, 0] for b in blocks))


def kinship_block(k):
    block = np.full((2500, 2000), k, dtype="float64")
    return float(block[0, 0])


def kinship(client, herd):
    try:
        return "dense", client.submit(kinship_dense, herd, key="kinship-dense").result()
    except KilledWorker:
        print("dense plan does not fit, using blocks")
    return "blocks", sum(client.gather(client.map(kinship_block, range(herd))))


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit="500 MiB",
        dashboard_address=None,
    ) as cluster:
        with Client(cluster) as client:
            plan, total = kinship(client, 30)
    print(plan, total)
    assert total == sum(range(30))


if __name__ == "__main__":
    main()

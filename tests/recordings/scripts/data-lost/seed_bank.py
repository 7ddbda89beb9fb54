import os
import signal
import time

import numpy as np
from dask.distributed import Client, LocalCluster, wait


def viability(lots, k):
    return float(lots[k::7].mean())


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        lots = client.scatter(
            np.random.default_rng(2).random(200_000), workers=workers[:1]
        )
        first = client.map(lambda k, lots: viability(lots, k), range(3), lots=lots)
        wait(first)
        print("first lots", client.gather(first))
        pid = client.run(os.getpid, workers=workers[:1])[workers[0]]
        os.kill(pid, signal.SIGKILL)
        time.sleep(2)
        rest = [client.submit(viability, lots, k) for k in range(3, 7)]
        print("other lots", client.gather(rest))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()

"""Fair prices on the resale market: broadcast a price index, then value all tickets."""

import os
import time

import numpy as np
from dask.distributed import Client, LocalCluster, wait


def sanity(index, batch):
    """Old checker: leaves the interpreter when a batch looks odd."""
    time.sleep(0.1)
    if batch == 5 and index[batch] > 0.2:
        os._exit(17)
    return batch


def value(index, ticket):
    return round(20 + 80 * float(index[ticket % len(index)]), 2)


def main():
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        index = client.scatter(np.linspace(0.1, 0.9, 24))
        checks = [client.submit(sanity, index, batch) for batch in range(8)]
        wait(checks)
        failed = [f for f in checks if f.status != "finished"]
        if failed:
            print(len(failed), "checks not conclusive, going on")
        tickets = [client.submit(value, index, t) for t in range(200)]
        print("sum", sum(client.gather(tickets)))


if __name__ == "__main__":
    main()

"""Updates accounts in a database that allows two connections at a time."""

import time

from dask.distributed import Client, LocalCluster, Semaphore


def update(account, connections):
    time.sleep(0.1)
    with connections:
        time.sleep(0.25)
    return account


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        connections = Semaphore(max_leases=2, name="accounts")
        updates = client.map(update, range(70), connections=connections)
        print(sum(client.gather(updates)))

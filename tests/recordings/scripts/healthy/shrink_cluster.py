"""Index documents, then shrink to one worker while the report is built."""

import time

from dask.distributed import Client, LocalCluster, wait


def tokens(doc):
    time.sleep(0.1)
    return {f"t{(doc * k) % 97}" for k in range(1, 40)}


def union(parts):
    return len(set().union(*parts))


def main():
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = client.map(tokens, range(40))
        wait(parts)
        client.retire_workers(workers=list(client.scheduler_info()["workers"])[:1])
        cluster.scale(1)
        time.sleep(2)
        print("workers left", len(client.scheduler_info()["workers"]))
        print("distinct", client.submit(union, parts).result())


if __name__ == "__main__":
    main()

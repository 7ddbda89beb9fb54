"""Needs four workers, the cluster's settings give two."""

import os

from dask.distributed import Client, LocalCluster

N_WORKERS = int(os.environ.get("N_WORKERS", "2"))


def main():
    with (
        LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(4, timeout=10)
        print(sum(client.gather(client.map(len, ["a", "bb", "ccc"]))))


if __name__ == "__main__":
    main()

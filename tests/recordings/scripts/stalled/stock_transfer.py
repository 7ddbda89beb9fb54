"""Transfer stock between depots; each depot's book is guarded by a cluster-wide lock."""

import time

from dask.distributed import Client, LocalCluster, Lock, wait


def transfer(source, target, pieces):
    with Lock(f"depot-{source}"):
        time.sleep(1.0)
        with Lock(f"depot-{target}"):
            time.sleep(0.1)
            return source, target, pieces


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        quiet = client.submit(transfer, "oslo", "malmo", 3)
        print("done:", quiet.result())
        orders = [("gdansk", "riga", 40), ("riga", "gdansk", 25), ("turku", "oslo", 9)]
        futures = [client.submit(transfer, *order) for order in orders]
        done = wait(futures, timeout=10)
        print(len(done.done))


if __name__ == "__main__":
    main()

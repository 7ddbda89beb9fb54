"""Irrigation plan: every transfer locks the two basins it moves water between."""

import time

from dask.distributed import Client, LocalCluster, Lock, wait


def transfer(source, target, m3):
    with Lock(f"basin-{source}"):
        time.sleep(1.0)
        with Lock(f"basin-{target}"):
            time.sleep(0.1)
            return source, target, m3


def main():
    plan = [("upper", "middle", 40), ("lower", "upper", 25), ("middle", "lower", 30)]
    with LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            warm = client.map(lambda x: x + 1, range(6))
            wait(warm)
            transfers = [client.submit(transfer, *row) for row in plan]
            _, open_ = wait(transfers, timeout=12)
            print(client.gather(transfers))


if __name__ == "__main__":
    main()

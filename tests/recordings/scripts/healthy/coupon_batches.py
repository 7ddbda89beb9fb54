"""Issue coupons on an elastic cluster that shrinks between waves."""

import time

from dask.distributed import Client, LocalCluster


def issue(number):
    time.sleep(0.08)
    return number * 7919 % 100_003


def wave(client, first, size):
    return len(set(client.gather(client.map(issue, range(first, first + size)))))


def main():
    with (
        LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.adapt(minimum=0, maximum=2, interval="300ms", wait_count=2)
        print("wave 1:", wave(client, 0, 40))
        for _ in range(40):
            if not client.scheduler_info()["workers"]:
                break
            time.sleep(0.2)
        print("workers between waves:", len(client.scheduler_info()["workers"]))
        print("wave 2:", wave(client, 1000, 30))


if __name__ == "__main__":
    main()

"""Adaptive cluster: a burst of simulations, then a quiet time in which the workers leave, then one more task."""

import time

from dask.distributed import Client, LocalCluster


def blast(horn):
    time.sleep(0.5)
    return 90 + horn % 12


def main():
    with LocalCluster(
        n_workers=0, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        cluster.adapt(
            minimum=0, maximum=2, interval="300ms", wait_count=3, target_duration="2s"
        )
        with Client(cluster) as client:
            levels = client.gather(client.map(blast, range(14)))
            end = time.monotonic() + 8
            while cluster.scheduler.workers and time.monotonic() < end:
                time.sleep(0.3)
            print(
                "workers in the quiet time:",
                "none" if not cluster.scheduler.workers else "some",
            )
            levels.append(client.submit(blast, 99).result())
            print("loudest", max(levels))


if __name__ == "__main__":
    main()

"""Birch bark analysis: start with two workers, end with one."""

import tempfile
import time

from distributed import Client, LocalCluster


def analyse(sample):
    time.sleep(0.1)
    return sample**2


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        kept = client.map(analyse, range(30))
        print("first", sum(client.gather(kept)))
        workers = list(client.scheduler_info()["workers"])
        client.retire_workers([workers[0]], close_workers=True, remove=True)
        while len(cluster.scheduler_info["workers"]) > 1:
            time.sleep(0.2)
        time.sleep(1)
        cluster.scale(1)
        second = client.map(lambda a: a + 1, kept)
        print("second", sum(client.gather(second)))


if __name__ == "__main__":
    main()

"""Matches warp patterns of tapestries pairwise; workers may take a fixed share of the machine."""

import resource
import time

import numpy as np
import psutil
from dask.distributed import Client, LocalCluster, WorkerPlugin

WORKSHOPS = {
    "aubusson": 300,
    "oudenaarde": 420,
    "bruxelles": 26_000,
    "gobelins": 510,
    "beauvais": 380,
}


class Share(WorkerPlugin):
    """Address space per process, as agreed with the other departments."""

    name = "share"

    def setup(self, worker):
        share = psutil.Process().memory_info().vms + 3 * 512 * 1024**2
        resource.setrlimit(resource.RLIMIT_AS, (share, share))


def patterns(workshop, count):
    time.sleep(0.4)
    return np.random.default_rng(count).random((count, 12)).astype("float32")


def match(warps, workshop):
    squared = (warps**2).sum(axis=1)
    distance = squared[:, None] + squared[None, :] - 2 * warps @ warps.T
    time.sleep(0.2)
    return workshop, float(np.sqrt(np.maximum(distance, 0)).mean())


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="800MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            client.register_plugin(Share())
            warps = {
                workshop: client.submit(
                    patterns, workshop, count, key=f"patterns-{workshop}"
                )
                for workshop, count in WORKSHOPS.items()
            }
            print(
                {workshop: len(future.result()) for workshop, future in warps.items()}
            )
            matches = [
                client.submit(match, future, workshop, key=f"match-{workshop}")
                for workshop, future in warps.items()
            ]
            for workshop, mean in client.gather(matches):
                print(f"{workshop}: mean distance {mean:.3f}")


if __name__ == "__main__":
    main()

"""Two model runs; workers are restarted in between to drop native caches."""

import numpy as np
from dask.distributed import Client, LocalCluster, wait


def run(member, seed):
    rng = np.random.default_rng([member, seed])
    return float(rng.normal(size=100_000).cumsum()[-1])


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        first = client.map(run, range(10), [1] * 10)
        wait(first)
        a = client.gather(first)
        spare = client.map(run, range(10, 14), [1] * 4)
        client.restart()
        print("spare members", {f.status for f in spare})
        b = client.gather(client.map(run, range(10), [2] * 10))
        print("ensemble spread", round(float(np.std(a)), 2), round(float(np.std(b)), 2))


if __name__ == "__main__":
    main()

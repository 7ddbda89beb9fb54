import dask
import numpy as np
from dask.distributed import Client, LocalCluster


def tile(k):
    return np.random.default_rng(k).random(2_500_000)


def peak(tile):
    return float(tile.max())


def main():
    dask.config.set(
        {
            "distributed.worker.memory.target": 0.3,
            "distributed.worker.memory.spill": 0.5,
        }
    )
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="900MiB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            tiles = client.map(tile, range(40))
            peaks = client.gather(client.map(peak, tiles))
            again = client.gather(client.map(peak, tiles[::-1], pure=False))
    print(len(peaks), max(peaks) == max(again))


if __name__ == "__main__":
    main()

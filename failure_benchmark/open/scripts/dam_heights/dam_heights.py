"""Compares the heights of dams, which have units."""

import lengths
from dask.distributed import Client, LocalCluster


def height(dam):
    lengths.define("rod", 5.0292)
    return lengths.Length(dam * 1.5, "rod")


def higher(one, other, dam):
    return dam, one.metres() > other.metres()


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        first, second = sorted(client.scheduler_info()["workers"])
        heights = client.map(height, range(6), workers=[first])
        compared = [
            client.submit(higher, heights[n], heights[n + 1], n, workers=[second])
            for n in range(5)
        ]
        print(client.gather(compared))

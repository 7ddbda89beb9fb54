"""Measures the depths of lakes with a model that counts what it has done."""

import threading

from dask.distributed import Client, LocalCluster


class DepthModel:
    def __init__(self, scale):
        self.scale = scale
        self.done = 0
        self.counting = threading.Lock()

    def depth(self, lake):
        with self.counting:
            self.done += 1
        return lake * self.scale

    def run(self, client, lakes):
        return client.gather(client.map(self.depth, lakes))


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(DepthModel(1.7).run(client, range(30))))

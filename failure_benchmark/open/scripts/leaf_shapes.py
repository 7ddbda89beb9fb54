"""Classifies leaves with a model that each worker loads when it starts."""

import json

from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker


class LeafModel(WorkerPlugin):
    name = "leaf-model"

    def setup(self, worker):
        with open("/srv/models/leaves/2026-05.json") as file:
            self.shapes = json.load(file)


def shape(leaf):
    return get_worker().plugins["leaf-model"].shapes[leaf % 3]


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(LeafModel())
        cluster.scale(2)
        print(client.gather(client.map(shape, range(30))))

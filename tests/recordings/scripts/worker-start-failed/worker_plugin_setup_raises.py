"""Every worker opens the feature store before it starts."""

from dask.distributed import Client, LocalCluster, WorkerPlugin


class FeatureStore(WorkerPlugin):
    name = "feature-store"

    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        with open(self.path) as index:
            worker.features = index.read().split()


def lookup(n):
    from dask.distributed import get_worker

    return get_worker().features[n]


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.register_plugin(FeatureStore("/srv/features/index.txt"))
            print(client.gather(client.map(lookup, range(10))))

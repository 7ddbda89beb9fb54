"""Loads the states of turbines into each worker before work begins."""

from dask.distributed import Client, LocalCluster, WorkerPlugin, get_client


def states(park):
    return [park * turbine % 5 for turbine in range(20)]


class LoadedStates(WorkerPlugin):
    name = "states"

    def __init__(self, address):
        self.address = address

    def setup(self, worker):
        client = Client(self.address)
        self.states = client.submit(states, 7).result()


def output(turbine):
    return get_client().cluster is None and turbine * 2


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(LoadedStates(cluster.scheduler_address))
        print(sum(client.gather(client.map(output, range(20)))))

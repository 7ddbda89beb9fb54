"""Fits the models of lenses, each on a GPU of its own."""

from dask.distributed import Client, LocalCluster


def fit(lens):
    return lens / 2


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        fitted = client.map(fit, range(4), resources={"GPU": 1})
        print(sum(client.gather(fitted)))

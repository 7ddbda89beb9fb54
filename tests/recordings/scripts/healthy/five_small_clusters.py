"""A cluster for each region, one after the other."""

from dask.distributed import Client, LocalCluster


def clean(record):
    return {key: value for key, value in record.items() if value is not None}


def process(region):
    records = [{"id": n, "region": region, "note": None} for n in range(30)]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        return client.gather(client.map(clean, records))


if __name__ == "__main__":
    for region in ("north", "east", "south", "west", "centre"):
        print(region, len(process(region)))

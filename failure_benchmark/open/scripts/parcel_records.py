"""Builds the records of parcels from their slips."""

from dask.distributed import Client, LocalCluster


def records(slip):
    for part in range(slip % 3 + 1):
        yield {"slip": slip, "part": part}


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        for future in client.map(records, range(10)):
            for record in future.result():
                print(record)

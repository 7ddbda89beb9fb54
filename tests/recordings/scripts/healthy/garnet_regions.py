"""Garnet sales per region, each region on a cluster of its own."""

import tempfile

import dask.array as da
from distributed import Client, LocalCluster


def region_total(tmp, region, keep):
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        dashboard_address=None,
        local_directory=tmp,
        name=region,
    )
    client = Client(cluster, set_as_default=False)
    array = da.random.default_rng(len(region)).random((2000, 200), chunks=(500, 200))
    total = client.compute(array.sum()).result()
    if keep:
        return total, (client, cluster)
    client.close()
    cluster.close()
    return total, None


def main():
    with tempfile.TemporaryDirectory() as tmp:
        north, handles = region_total(tmp, "north", keep=True)
        south, _ = region_total(tmp, "south", keep=False)
        client, cluster = handles
        again = client.submit(round, north, 2).result()
        client.shutdown()
        cluster.close()
        inproc = Client(
            processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None
        )
        print(again, inproc.submit(round, south, 2).result())
        inproc.close()


if __name__ == "__main__":
    main()

"""Loom shifts: raw counts live on the mill's cluster, quality reports run on the office's."""

import dask
from dask.distributed import Client, LocalCluster


@dask.delayed
def loom_counts(shift):
    return [shift * 100 + k for k in range(20)]


@dask.delayed
def report(counts):
    return sum(sum(c) for c in counts)


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", name="mill"
        ) as mill,
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", name="office"
        ) as office,
    ):
        mill_client = Client(mill)
        counts = dask.persist(*[loom_counts(s) for s in range(6)])
        print("raw", len(dask.compute(*counts)))
        office_client = Client(office)
        try:
            print("report", report(list(counts)).compute())
        finally:
            office_client.close()
            mill_client.close()


if __name__ == "__main__":
    main()

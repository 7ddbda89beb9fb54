import dask
from dask.distributed import Client, LocalCluster

GRANTS = {"marine": [120, 80, 45], "polar": [300, 15], "alpine": [60, 60, 61]}
APPROVED = {"marine": 245, "polar": 315, "alpine": 180}


@dask.delayed
def spent(items):
    return sum(items)


def reconcile(totals):
    for grant, approved in APPROVED.items():
        assert totals[grant] <= approved, (
            f"{grant}: spent {totals[grant]} of {approved}"
        )
    return True


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        (totals,) = dask.compute(
            {grant: spent(items) for grant, items in GRANTS.items()}
        )
        print("totals", totals)
    finally:
        client.close()
        cluster.close()
    reconcile(totals)
    print("budget closed")


if __name__ == "__main__":
    main()

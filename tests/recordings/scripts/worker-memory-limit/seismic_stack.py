import dask.array as da
from dask.distributed import Client, LocalCluster


def shots(n=12):
    return da.random.default_rng(5).normal(size=(n, 400, 600), chunks=(2, 400, 600))


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="48 MiB", dashboard_address=None
    )
    client = Client(cluster, timeout=10)
    try:
        client.wait_for_workers(2, timeout=8)
        stack = shots()
        trace = (stack - stack.mean(axis=0)).std(axis=(0, 2))
        print("energy by depth:", client.compute(trace).result(timeout=10)[:5])
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()

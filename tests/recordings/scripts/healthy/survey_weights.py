import time

from dask.distributed import Client, LocalCluster


def rake(stratum):
    time.sleep(0.4)
    return stratum + 1


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.adapt(minimum=0, maximum=2, interval="300ms", wait_count=2)
        print("round one", sum(client.gather(client.map(rake, range(12)))))
        deadline = time.time() + 8
        while client.scheduler_info(n_workers=-1)["workers"] and time.time() < deadline:
            time.sleep(0.3)
        print("workers now", len(client.scheduler_info(n_workers=-1)["workers"]))
        print("round two", client.submit(rake, 41).result())


if __name__ == "__main__":
    main()

import time

from dask.distributed import Client, LocalCluster


def weigh(field):
    time.sleep(0.1)
    return field * 3


def main():
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        fields = client.map(weigh, range(30))
        first = client.gather(fields)
        spare = list(client.scheduler_info(n_workers=-1)["workers"])[1:]
        print("retiring", spare)
        client.retire_workers(spare)
        second = client.gather(client.map(weigh, range(30, 40)))
        print("tonnes", sum(first) + sum(second), "kept", len(client.gather(fields)))


if __name__ == "__main__":
    main()

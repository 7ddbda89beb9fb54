import time

from dask.distributed import Client, LocalCluster


def passages(gantry):
    time.sleep(0.5)
    return gantry * 120


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            gantries = client.map(passages, range(30))
            client.wait_for_workers(6, timeout=6)
            print("passages", sum(client.gather(gantries)))


if __name__ == "__main__":
    main()

import time

from dask.distributed import Client, LocalCluster, TimeoutError


def tide(hour):
    time.sleep(3)
    return hour % 6


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        slow = client.submit(tide, 16)
        while True:
            try:
                print("tide", slow.result(timeout=1))
                break
            except TimeoutError:
                print("TimeoutError: still waiting, status", slow.status)


if __name__ == "__main__":
    main()

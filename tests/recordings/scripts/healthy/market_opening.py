import datetime as dt
import time

from dask.distributed import Client, LocalCluster


def settle(book):
    return book, sum((book * k) % 101 for k in range(20_000))


def wait_for_opening(opening):
    while dt.datetime.now() < opening:
        time.sleep(0.25)


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        night = client.gather(client.map(settle, range(20)))
        print("night books", len(night))
        opening = dt.datetime.now() + dt.timedelta(seconds=12)
        wait_for_opening(opening)
        day = client.gather(client.map(settle, range(100, 130)))
        print("day books", len(day))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()

import os
import socket

import dask.bag as db
from dask.distributed import Client, LocalCluster


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


def connect():
    shared = os.environ.get("MEALS_SCHEDULER", free_address())
    try:
        return Client(shared, timeout=2), None
    except OSError as exc:
        print("shared cluster not there:", type(exc).__name__)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    return Client(cluster), cluster


def meals(school):
    return school % 5, 40 + (school * 17) % 90


def main():
    client, cluster = connect()
    try:
        bag = db.from_sequence(range(300), npartitions=6).map(meals)
        per_area = bag.foldby(
            lambda r: r[0], lambda acc, r: acc + r[1], 0, lambda a, b: a + b, 0
        ).compute()
        print(sorted(per_area))
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


if __name__ == "__main__":
    main()

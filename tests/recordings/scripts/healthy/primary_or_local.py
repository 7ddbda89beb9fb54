"""Night totals on the shared cluster, or on a local one when it is down."""

import os

from dask.distributed import Client, LocalCluster

PRIMARY = os.environ.get("NIGHT_SCHEDULER", "tcp://127.0.0.1:9")


def total(shop):
    return sum((shop * k) % 113 for k in range(1000))


def connect():
    try:
        return Client(PRIMARY, timeout="2s"), None
    except OSError as err:
        print("shared cluster not reachable:", err)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    return Client(cluster), cluster


def main():
    client, cluster = connect()
    totals = client.gather(client.map(total, range(20)))
    print("shops", len(totals), "sum", sum(totals))
    client.close()
    if cluster is not None:
        cluster.close()


if __name__ == "__main__":
    main()

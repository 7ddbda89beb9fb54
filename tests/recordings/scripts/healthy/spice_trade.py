"""Spice trade: two passes with fresh workers in between, then fewer workers."""

import time

from dask.distributed import Client, LocalCluster


def voyage(n):
    time.sleep(0.05)
    return {"ship": n, "pepper": n * 13 % 40}


def profit(log, price):
    return log["pepper"] * price


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    logs = client.gather(client.map(voyage, range(40)))
    workers = list(client.scheduler_info()["workers"])
    print("fresh workers for the second pass")
    client.restart_workers(workers, timeout=30)
    first = client.gather([client.submit(profit, log, 3) for log in logs])
    cluster.scale(1)
    time.sleep(1)
    second = client.gather([client.submit(profit, log, 4) for log in logs])
    print(sum(first), sum(second))
    client.close()
    cluster.close()


if __name__ == "__main__":
    main()

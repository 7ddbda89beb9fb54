"""A host whose limits allow each process some seconds of processor time."""

import resource

from dask.distributed import Client


def limit(seconds):
    used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 30))


def search(n):
    total = 0
    while True:
        total = (total * 31 + n) % 1_000_003


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        client.run(limit, 6)
        print(client.submit(search, 3).result())

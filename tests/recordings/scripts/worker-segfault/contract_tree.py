import sys

import dask
from dask.distributed import Client, LocalCluster


class Clause:
    def __init__(self, number, parent=None):
        self.number = number
        self.parent = parent

    def __repr__(self):
        return f"{self.parent!r}.{self.number}" if self.parent else str(self.number)


def nest(depth):
    clause = None
    for k in range(depth):
        clause = Clause(k % 10, clause)
    return clause


def outline(contract, depth):
    sys.setrecursionlimit(10_000_000)
    text = repr(nest(depth))
    return contract, len(text)


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    contracts = {"C-101": 40, "C-102": 220, "C-103": 75, "C-104": 200_000, "C-105": 12}
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit="1200 MiB",
        dashboard_address=None,
    ) as cluster:
        with Client(cluster) as client:
            futures = [
                client.submit(outline, c, d, key=f"outline-{c}")
                for c, d in contracts.items()
            ]
            for contract, length in client.gather(futures):
                print(contract, length, "characters")


if __name__ == "__main__":
    main()

"""Strahler order of the river network, basin by basin."""

import logging
import sys

import dask
from dask.distributed import Client, LocalCluster

log = logging.getLogger("rivers")


class Reach:
    __slots__ = ("upstream",)

    def __init__(self, upstream=()):
        self.upstream = list(upstream)


def build(basin, reaches):
    """Grow the network from the springs downwards; every fourth reach takes in a brook."""
    mouth = Reach()
    for n in range(reaches):
        brooks = [Reach() for _ in range(1 + n % 2)] if n % 4 == 0 else []
        mouth = Reach([mouth, *brooks])
    return mouth


def strahler(reach):
    orders = sorted(map(strahler, reach.upstream), reverse=True)
    if not orders:
        return 1
    return orders[0] + (len(orders) > 1 and orders[0] == orders[1])


@dask.delayed
def order(basin, reaches):
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 4 * reaches))
    return basin, strahler(build(basin, reaches))


@dask.delayed
def ranking(orders):
    return sorted(orders, key=lambda item: -item[1])


def main():
    logging.basicConfig(level=logging.INFO)
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    basins = {"Wümme": 400, "Oste": 260, "Hunte": 900, "Weser": 400_000, "Geeste": 120}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        orders = [order(basin, reaches) for basin, reaches in basins.items()]
        log.info("%d basins", len(orders))
        for basin, value in ranking(orders).compute():
            print(f"{basin}: order {value}")


if __name__ == "__main__":
    main()

"""Running stock of pigments in an actor; deliveries of the day are booked one after the other."""

import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

dask.config.set(
    {
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.pause": False,
    }
)


class Ledger:
    """Stock per pigment and the scans of all delivery notes."""

    def __init__(self):
        self.stock = {}
        self.notes = []

    def book(self, pigment, kilograms, pages):
        self.stock[pigment] = self.stock.get(pigment, 0) + kilograms
        self.notes.append(np.ones((pages, 1000, 1000)))
        return self.stock[pigment]

    def total(self):
        return sum(self.stock.values())


def weigh(delivery):
    time.sleep(0.1)
    return ["ochre", "umber", "azurite", "madder"][delivery % 4], 5 + delivery % 9


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            deliveries = client.gather(client.map(weigh, range(60)))
            ledger = client.submit(Ledger, actor=True).result()
            for number, (pigment, kilograms) in enumerate(deliveries):
                stock = ledger.book(pigment, kilograms, 1 + number % 2).result()
                time.sleep(0.15)
                if number % 10 == 0:
                    print(number, pigment, stock)
            print("stock:", ledger.total().result())


if __name__ == "__main__":
    main()

"""A cooper's stock as an actor; tasks enter barrels, the driver asks for the balance."""

import time

from dask.distributed import Client, LocalCluster


class Stock:
    def __init__(self):
        self.entries = []
        self.photos = {}

    def enter(self, barrel, litres):
        self.entries.append((barrel, litres))
        self.photos[barrel] = bytearray(30 * 1024 * 1024)  # "for later"
        return len(self.entries)

    def balance(self):
        return sum(l for _, l in self.entries)


def measure(barrel):
    time.sleep(0.2)
    return barrel, 225 + barrel % 3


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            stock = client.submit(Stock, actor=True, key="cooper-stock").result()
            for barrel, litres in client.gather(client.map(measure, range(30))):
                stock.enter(barrel, litres).result()
                time.sleep(0.15)
            print("litres in stock", stock.balance().result())


if __name__ == "__main__":
    main()

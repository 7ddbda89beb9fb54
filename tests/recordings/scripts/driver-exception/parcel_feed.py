"""Stream the depot's parcel scans into the postage model, batch by batch."""

import logging
import queue
import threading

from dask.distributed import Client, LocalCluster

log = logging.getLogger("parcels")
RATES = [(0.5, 2.75), (2.0, 4.5), (10.0, 9.5), (31.5, 19.0)]


def scans(batches, size=40):
    for b in range(batches):
        batch = []
        for n in range(size):
            scan = {
                "id": b * size + n,
                "weight": 0.2 + (n * 37 % 90) / 10,
                "zone": n % 4,
            }
            if b == 5 and n == 11:
                scan = {"id": scan["id"], "weight_g": 740, "zone": 2}
            batch.append(scan)
        yield batch


class Feeder(threading.Thread):
    """Reads ahead of the cluster, so that the workers never wait for the depot."""

    def __init__(self, batches, depth=2):
        super().__init__(name="depot-feeder", daemon=True)
        self.batches = batches
        self.buffer = queue.Queue(maxsize=depth)

    def run(self):
        for batch in scans(self.batches):
            self.buffer.put([(s["id"], s["weight"], s["zone"]) for s in batch])
        self.buffer.put(None)

    def __iter__(self):
        while True:
            batch = self.buffer.get(timeout=8)
            if batch is None:
                return
            yield batch


def postage(batch):
    total = 0.0
    for _, weight, zone in batch:
        base = next(price for limit, price in RATES if weight <= limit)
        total += base * (1 + 0.15 * zone)
    return len(batch), round(total, 2)


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        feeder = Feeder(batches=9)
        feeder.start()
        parcels, revenue = 0, 0.0
        for number, batch in enumerate(feeder):
            count, total = client.submit(postage, batch).result()
            parcels, revenue = parcels + count, revenue + total
            log.info("batch %d: %d parcels, %.2f", number, count, total)
        print(parcels, round(revenue, 2))


if __name__ == "__main__":
    main()

"""Stream the readings of the reagent line through a bounded queue: one task reads the line, one keeps the statistics."""

import logging
import time

import numpy as np
from dask.distributed import Client, LocalCluster, Queue

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("reagents")

END = {"vial": None}


def readings(n):
    rng = np.random.default_rng(2718)
    for vial in range(n):
        ph = float(rng.normal(7.1, 0.2))
        reading = {
            "vial": vial,
            "ph": round(ph, 3),
            "temp_c": round(float(rng.normal(21, 0.4)), 2),
        }
        if vial == 31:
            reading.pop("temp_c")  # probe pulled for cleaning
        yield reading


class LineReader:
    def __init__(self, queue, n):
        self.queue, self.n = queue, n

    def __call__(self):
        for reading in readings(self.n):
            time.sleep(0.02)
            self.queue.put(reading)
        self.queue.put(END)
        return self.n


class Statistics:
    def __init__(self, queue):
        self.queue = queue

    def compensated(self, reading):
        return reading["ph"] - 0.003 * (reading["temp_c"] - 25)

    def __call__(self):
        values = []
        while (reading := self.queue.get(timeout=30))["vial"] is not None:
            values.append(self.compensated(reading))
        return {
            "n": len(values),
            "mean": float(np.mean(values)),
            "sd": float(np.std(values)),
        }


def shift(client, vials):
    queue = Queue("reagent-line", client=client, maxsize=8)
    reader = client.submit(LineReader(queue, vials), key="read-line", pure=False)
    stats = client.submit(Statistics(queue), key="keep-statistics", pure=False)
    # the line decides how long a shift is: 200 vials take four seconds
    log.info("line is empty after %d vials", reader.result(timeout=18))
    log.info("statistics %s", stats.result(timeout=5))


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        shift(client, vials=200)


if __name__ == "__main__":
    main()

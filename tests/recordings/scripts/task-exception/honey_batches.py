"""Release the honey batches of the cooperative after the laboratory checks."""

import concurrent.futures
import logging
import threading

from dask.distributed import Client, LocalCluster

log = logging.getLogger("honey")
LIMITS = {"moisture": 20.0, "hmf": 40.0, "diastase": 60.0}


class BatchRejected(Exception):
    """Carries all that the cooperative's letter to the beekeeper needs."""

    def __init__(self, batch, parameter, value, laboratory):
        self.batch = batch
        self.parameter = parameter
        self.value = value
        self.laboratory = laboratory
        super().__init__(
            f"batch {batch}: {parameter} {value} is above {LIMITS[parameter]}"
        )


class Laboratory:
    def __init__(self):
        self.lock = threading.RLock()
        self.measured = 0

    def analyse(self, batch):
        with self.lock:
            self.measured += 1
        values = {
            "moisture": 16.5 + batch % 3,
            "hmf": 8.0 + batch % 12,
            "diastase": 14.0 + batch % 9,
        }
        if batch == 17:
            values["hmf"] = 58.2
        return values


def check(batch):
    laboratory = Laboratory()
    values = laboratory.analyse(batch)
    for parameter, limit in LIMITS.items():
        if values[parameter] > limit:
            raise BatchRejected(batch, parameter, values[parameter], laboratory)
    return batch, values["moisture"]


def blend(results):
    moisture = [m for _, m in results]
    return round(sum(moisture) / len(moisture), 2)


def release(executor, batches):
    futures = {executor.submit(check, b): b for b in batches}
    finished = []
    for future in concurrent.futures.as_completed(futures, timeout=30):
        finished.append(future.result())
    return executor.submit(blend, finished).result()


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        with client.get_executor() as executor:
            print("mean moisture", release(executor, range(1, 31)))


if __name__ == "__main__":
    main()

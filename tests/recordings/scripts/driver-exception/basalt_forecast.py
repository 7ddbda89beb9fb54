"""Forecast basalt demand; a feeder process reads the stations and the driver turns readings into tasks."""

import multiprocessing
import os
import tempfile

from distributed import Client, LocalCluster, Queue

ROWS = [
    {"station": "ridge", "mm": 3},
    {"station": "delta", "mm": 9},
    {"stn": "cove", "mm": 1},
    {"station": "fen", "mm": 4},
]


def feed(address, name):
    with Client(address) as client:
        queue = Queue(name, client=client)
        for row in ROWS:
            queue.put([row["station"], row["mm"]])


def forecast(station, mm):
    return station, mm * 1.7


def main():
    with tempfile.TemporaryDirectory() as tmp:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            name = f"readings-{os.getpid()}"
            queue = Queue(name)
            feeder = multiprocessing.get_context("spawn").Process(
                target=feed, args=(cluster.scheduler_address, name)
            )
            feeder.start()
            try:
                futures = []
                for _ in ROWS:
                    station, mm = queue.get(timeout=30)
                    futures.append(client.submit(forecast, station, mm))
                print(dict(client.gather(futures)))
            finally:
                feeder.terminate()
                feeder.join()


if __name__ == "__main__":
    main()

"""Cave maps: surveys are adjusted while the scans of the day before are compressed."""

import os
import time
import zlib

import dask
from dask.distributed import Client, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 0})


def adjust(survey):
    error = 1.0
    for _ in range(60):
        error *= 0.97
        time.sleep(0.1)
    return survey, round(error, 4)


class Packer:
    def __init__(self, level):
        self.level = level

    def pack(self, scan):
        blob = bytes((scan * i) % 251 for i in range(40_000))
        packed = zlib.compress(blob, self.level)
        if scan == 6 and len(packed) < len(blob):
            os._exit(7)  # keeps a broken archive from being committed
        time.sleep(0.5)
        return len(packed)


def compress(scan):
    return Packer(6).pack(scan)


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=3, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            surveys = client.map(adjust, range(2), priority=10)
            scans = client.map(compress, range(1, 9))
            for survey, error in client.gather(surveys):
                print("survey", survey, error)
            print("packed", sum(client.gather(scans)))


if __name__ == "__main__":
    main()

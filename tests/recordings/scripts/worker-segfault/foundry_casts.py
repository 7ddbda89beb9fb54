"""Reads pyrometer buffers of casts by way of the vendor's C buffers."""

import ctypes
import time

from dask.distributed import Client, LocalCluster


def acquire(cast):
    time.sleep(0.2)
    return {"cast": cast, "samples": 64, "data": 0 if cast != 7 else 0x10}


def read_pyrometer(rec):
    if not rec["data"]:
        return rec["cast"], 1450.0
    raw = ctypes.string_at(rec["data"], rec["samples"] * 8)
    return rec["cast"], float(sum(raw)) / rec["samples"]


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.run_on_scheduler(
                lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1)
            )
            temps = client.map(read_pyrometer, client.map(acquire, range(10)))
            print(max(client.gather(temps)))


if __name__ == "__main__":
    main()

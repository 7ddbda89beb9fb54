"""Vibration estimates for quarry blasts; the batch has a service window of 16 seconds."""

import os
import sys
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait

LICENCE_SEATS = {"north": 4, "east": 4, "south": 0, "west": 2}


def native_solver(seats, charge):
    # the vendor's solver ends the process when it gets no licence
    if seats < 1:
        sys.stderr.write("SOLVER: no licence seat, exiting\n")
        sys.stderr.flush()
        os._exit(17)
    return float(np.sqrt(charge) * 0.3)


def peak_velocity(face, charge):
    time.sleep(0.3)
    return face, native_solver(LICENCE_SEATS[face], charge)


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 50})
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = [
                client.submit(peak_velocity, face, c, key=f"peak_velocity-{face}-{c}")
                for face in LICENCE_SEATS
                for c in (40, 80)
            ]
            started = time.monotonic()
            while any(not f.done() for f in futures):
                if time.monotonic() - started > 16:
                    open_ = sum(not f.done() for f in futures)
                    raise TimeoutError(
                        f"service window over: {open_} of {len(futures)} blasts not estimated"
                    )
                time.sleep(0.5)
            print(client.gather(futures))


if __name__ == "__main__":
    main()

"""Slope stability per cell: the library logs errors and tracebacks for cells it then treats by the simple formula."""

import logging
import sys
import time
import traceback

import numpy as np
from dask.distributed import Client, LocalCluster, WorkerPlugin

log = logging.getLogger("geotech.solver")


class Licence(WorkerPlugin):
    name = "licence"

    def setup(self, worker):
        try:
            raise ConnectionRefusedError("licence server licsrv-2 refuses")
        except ConnectionRefusedError:
            log.exception("no licence from licsrv-2, taking the free edition")
        worker.edition = "free"


def exact(cell):
    if cell % 4 == 1:
        raise FloatingPointError("matrix of slices is singular")
    return 1.2 + cell * 0.01


def safety_factor(cell):
    time.sleep(0.15)
    try:
        return exact(cell)
    except FloatingPointError:
        log.error("FATAL: solver failed for cell %d", cell)
        traceback.print_exc(file=sys.stderr)
        return 1.0


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.register_plugin(Licence())
            factors = np.array(client.gather(client.map(safety_factor, range(24))))
            print(
                "ERROR cells:",
                int((factors <= 1.0).sum()),
                "mean",
                factors.mean().round(3),
            )


if __name__ == "__main__":
    main()

"""Tide tables: the harmonic constants are kept by a plugin on each worker."""

import logging
import math

from dask.distributed import Client, WorkerPlugin, get_worker

log = logging.getLogger("tides")


class TideConstants(WorkerPlugin):
    name = "tide-constants"

    def __init__(self, rows):
        self.rows = rows

    def setup(self, worker):
        parsed = {}
        for row in self.rows:
            port, amplitude, phase = row.split(";")
            parsed[port] = (float(amplitude), float(phase))
        worker.tide_constants = parsed


ROWS = ["brest;2.05;1.1", "hull;2.31;0.4", "bergen;0.44", "cadiz;1.02;2.2"]


def high_water(port, hour):
    amplitude, phase = get_worker().tide_constants[port]
    return amplitude * math.cos(0.506 * hour + phase)


def main():
    logging.basicConfig(level=logging.INFO)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        try:
            client.register_plugin(TideConstants(ROWS))
        except Exception:
            log.info("plugin was registered before, going on")
        table = [client.submit(high_water, "hull", h) for h in range(48)]
        print("highest", max(client.gather(table)))


if __name__ == "__main__":
    main()

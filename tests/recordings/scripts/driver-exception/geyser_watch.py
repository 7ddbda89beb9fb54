"""Corrects last day's geyser eruption heights with the gauge offsets of the hour."""

import json
import logging
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster, Variable

log = logging.getLogger("geyser")


def write_station_files(folder):
    stations = {
        "pohutu": {"datum": 4.2, "offset_mm": 12},
        "strokkur": {"datum": 3.1, "offset_mm": -4},
        "velikan": {"datum": 6.0, "offset": 9},
    }
    (folder / "gauges.json").write_text(json.dumps(stations))
    rng = np.random.default_rng(3)
    for name in stations:
        np.save(folder / f"{name}.npy", rng.gamma(6.0, 3.0, 2000))
    return list(stations)


class OffsetFeed(threading.Thread):
    """Keeps the offsets of all gauges up to date for the tasks."""

    def __init__(self, client, source):
        super().__init__(name="offset-feed", daemon=True)
        self.client = client
        self.source = source
        self.stop = threading.Event()

    def read(self):
        gauges = json.loads(self.source.read_text())
        return {
            name: gauge["datum"] + gauge["offset_mm"] / 1000
            for name, gauge in gauges.items()
        }

    def run(self):
        try:
            shared = Variable("gauge-offsets", client=self.client)
            while not self.stop.is_set():
                shared.set(self.read())
                self.stop.wait(5)
        except Exception as exc:
            log.warning("offset feed ends: %r", exc)


def corrected_heights(folder, station):
    heights = np.load(Path(folder) / f"{station}.npy")
    offsets = Variable("gauge-offsets").get(timeout="12s")
    above = heights + offsets[station]
    return station, float(np.percentile(above, 95)), float(above.max())


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        stations = write_station_files(folder)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            feed = OffsetFeed(client, folder / "gauges.json")
            feed.start()
            time.sleep(1)
            log.info("correcting %d stations", len(stations))
            jobs = client.map(corrected_heights, [tmp] * len(stations), stations)
            for station, p95, top in client.gather(jobs):
                log.info("%s: p95 %.1f m, highest %.1f m", station, p95, top)
            feed.stop.set()


if __name__ == "__main__":
    main()

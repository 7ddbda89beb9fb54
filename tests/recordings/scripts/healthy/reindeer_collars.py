"""Positions of reindeer collars: cleaning, tracks, and the map of the night."""

import argparse
import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed, wait

log = logging.getLogger("collars")

HERDS = ["abisko", "femund", "inari", "kautokeino", "muotka", "rondane"]
MB = 1024 * 1024


class CollarSilent(Exception):
    """A collar did not send in this window; normal in winter."""


def fetch_window(herd, hour, folder):
    """The station answers at the second call, as it sleeps in between."""
    time.sleep(0.2)
    mark = Path(folder) / f"{herd}-{hour}.called"
    if hour % 3 == 1 and not mark.exists():
        mark.touch()
        raise ConnectionResetError(f"station of {herd} asleep")
    if herd == "muotka" and hour == 2:
        raise CollarSilent(herd, hour)
    return np.random.default_rng(hour).normal(68, 0.2, 4000)


def wide_track(herd):
    """Interpolated track; large on purpose, the station wants seconds."""
    time.sleep(0.3)
    return np.random.default_rng(len(herd)).random(16 * MB // 8)


def speed(track):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("gap longer than an hour, speed is a lower bound", RuntimeWarning)
    return float(np.abs(np.diff(track)).mean())


def slow_geocode(herd):
    time.sleep(12)
    return herd


def fetch_all(client, folder, hours):
    silent, positions = [], 0
    futures = [
        client.submit(
            fetch_window, h, hour, folder, key=f"fetch_window-{h}-{hour}", retries=1
        )
        for h in HERDS
        for hour in range(hours)
    ]
    for future in as_completed(futures):
        try:
            positions += future.result().size
        except CollarSilent as exc:
            log.warning("silent: %s", exc)
            silent.append(exc.args)
    return positions, silent


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=3)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="collars-") as tmp:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="250MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            positions, silent = fetch_all(client, tmp, args.hours)
            log.info("%d positions, %d silent windows", positions, len(silent))
            if silent != [("muotka", 2)]:
                log.error("unexpected gaps: %s", silent)
                return 2

            # tracks of all herds stay on the cluster, what does not fit goes to scratch
            tracks = [
                client.submit(wide_track, f"{h}{n}", key=f"wide_track-{h}-{n}")
                for h in HERDS
                for n in range(2)
            ]
            speeds = client.gather(
                [
                    client.submit(speed, t, key=f"speed-{n}")
                    for n, t in enumerate(tracks)
                ]
            )
            log.info("mean speed %.4f", float(np.mean(speeds)))
            del tracks

            # names of places are nice to have
            names = [
                client.submit(slow_geocode, h, key=f"slow_geocode-{h}") for h in HERDS
            ]
            try:
                wait(names, timeout=2)
            except dask.distributed.TimeoutError:
                log.warning("geocoder too slow tonight, map without names")
                client.cancel(names)
            del names
            client.restart(timeout=120)
            log.info("workers restarted for the map")

            cells = client.gather(
                client.map(lambda n: n * n, range(60), key="map_cell")
            )
            log.info("map of %d cells, checksum %d", len(cells), sum(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())

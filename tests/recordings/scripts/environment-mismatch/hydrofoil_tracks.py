"""Take-off speeds of the hydrofoil test boats from the day's tracks, corrected by each boat's speed log table."""

import contextlib
import csv
import datetime as dt
import logging
import os
import pathlib
import random
import statistics

from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("hydrofoil")


class SpeedCorrection:
    """Correction table of a speed log. The table is big on the real boats, so it does not travel: it is read again."""

    def __init__(self, source):
        self.source = source
        self._read()

    def _read(self):
        with open(self.source, newline="") as stream:
            self.table = [
                (float(row["knots"]), float(row["factor"]))
                for row in csv.DictReader(stream)
            ]

    def __getstate__(self):
        return {"source": self.source}

    def __setstate__(self, state):
        self.source = state["source"]
        self._read()

    def apply(self, knots):
        nearest = min(self.table, key=lambda row: abs(row[0] - knots))
        return knots * nearest[1]


@contextlib.contextmanager
def day_folder(day):
    """Each day has its folder, where all files of the run are."""
    folder = pathlib.Path("days") / day.isoformat()
    folder.mkdir(parents=True, exist_ok=True)
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)


def write_table(boat):
    name = f"speedlog_{boat}.csv"
    with open(name, "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["knots", "factor"])
        for knots in range(0, 45):
            writer.writerow([knots, 1 + (knots % 7) / 400])
    return name


def read_track(boat, day):
    rng = random.Random(f"{boat}{day}")
    return [max(0.0, 22 + 9 * rng.gauss(0, 1)) for _ in range(500)]


def takeoff_speed(track, correction):
    fast = sorted(correction.apply(knots) for knots in track)[250:]
    return round(statistics.fmean(fast), 2)


def main():
    day = dt.date(2026, 11, 28)
    boats = ["tern", "skua", "fulmar"]
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        with day_folder(day) as folder:
            log.info("working in %s", folder)
            speeds = {}
            for boat in boats:
                correction = SpeedCorrection(write_table(boat))
                track = client.submit(read_track, boat, day)
                speeds[boat] = client.submit(
                    takeoff_speed, track, correction, key=f"takeoff_speed-{boat}"
                )
            with open("takeoff.csv", "w") as out:
                for boat, speed in speeds.items():
                    out.write(f"{boat},{speed.result(timeout=18)}\n")
            log.info("take-off speeds written")


if __name__ == "__main__":
    main()

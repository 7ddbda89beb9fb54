"""Grid the ionosondes' soundings of a day by time and height.

Each station writes the soundings of its day as a table of time, virtual height and amplitude.  The tables are put on a
regular grid of ten seconds by two kilometres and the peaks of the F layer are read from it.
"""

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("ionosonde")

STATIONS = ["sodankyla", "juliusruh", "pruhonice", "rome", "ebre", "chilton"]
STEP = 10
HEIGHTS = np.arange(60, 1100, 2.0)
DAY = datetime(2026, 11, 27, tzinfo=timezone.utc)


def write_station(folder, number):
    """One sounding in five minutes; Ebre had a power cut at noon."""
    name = STATIONS[number]
    rng = np.random.default_rng(number)
    rows = []
    for i in range(288):
        at = DAY + timedelta(minutes=5 * i)
        seconds = at.timestamp()
        if name == "ebre" and 144 <= i < 147:
            seconds = 300.0 * (i - 144)
        for height in 90 + 240 * rng.random(12):
            rows.append(
                [seconds, round(float(height), 1), round(float(rng.gamma(2, 10)), 2)]
            )
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"station": name, "rows": rows}))
    return path


def read_soundings(path):
    table = json.loads(Path(path).read_text())
    rows = np.asarray(table["rows"])
    return table["station"], rows[np.isfinite(rows).all(axis=1)]


def grid_soundings(soundings):
    station, rows = soundings
    first, last = rows[:, 0].min(), rows[:, 0].max()
    steps = int((last - first) // STEP) + 1
    grid = np.full((steps, len(HEIGHTS), 4), -1.0)
    when = ((rows[:, 0] - first) // STEP).astype(int)
    where = np.searchsorted(HEIGHTS, rows[:, 1])
    for shift in range(4):
        grid[when, where, shift] = np.roll(rows[:, 2], shift)
    return station, grid.max(axis=(0, 2))


def peak_height(gridded):
    station, profile = gridded
    above = HEIGHTS > 150
    return station, float(HEIGHTS[above][np.argmax(profile[above])])


class DayRun:
    def __init__(self, client, paths):
        self.client = client
        self.paths = paths
        self.peaks = {}

    def start(self):
        tables = self.client.map(read_soundings, self.paths)
        grids = self.client.map(grid_soundings, tables, retries=1)
        return self.client.map(peak_height, grids)

    def collect(self, futures):
        for future in as_completed(futures):
            station, height = future.result()
            self.peaks[station] = height
            log.info("%s: F2 peak at %.0f km", station, height)

    def report(self):
        text = "\n".join(f"{k},{v:.0f}" for k, v in sorted(self.peaks.items()))
        Path("peaks.csv").write_text(text + "\n")


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    folder = Path("soundings").resolve()
    folder.mkdir(exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        paths = [
            str(p)
            for p in pool.map(lambda n: write_station(folder, n), range(len(STATIONS)))
        ]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            day = DayRun(client, paths)
            try:
                day.collect(day.start())
            finally:
                day.report()
                log.info("%d of %d stations in the report", len(day.peaks), len(paths))


if __name__ == "__main__":
    main()

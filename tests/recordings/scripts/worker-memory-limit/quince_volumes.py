"""Scans of quince fruit for a breeding station: slices are annotated while whole volumes are registered to a template.

Annotation waits for a labelling service most of the time, so workers have two threads and the two kinds of work
are mixed on purpose.
"""

import json
import os
import time

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"

import numpy as np  # noqa: E402
from distributed import Client, LocalCluster, as_completed  # noqa: E402

SETTINGS = {
    "volumes": ["Q-101", "Q-102", "Q-103", "Q-104"],
    "levels": {"Q-101": 2, "Q-102": 2, "Q-103": 2, "Q-104": 40},
    "slices": 12,
    "workers": 2,
}


def annotate_slice(number):
    """Ask for labels of one slice and keep their outlines."""
    rng = np.random.default_rng(number)
    outlines = []
    for _ in range(16):
        time.sleep(0.3)
        outlines.append(rng.normal(size=(500, 2)))
    return float(np.vstack(outlines).mean())


def template(size=96):
    grid = np.linspace(-1, 1, size)
    x, y, z = np.meshgrid(grid, grid, grid, indexing="ij")
    return (x**2 + y**2 + z**2 < 0.6).astype("float64")


def register_volume(name, levels):
    """Walk through a pyramid of displacement fields; finer fields start from the coarser ones."""
    fixed = template()
    rng = np.random.default_rng(len(name))
    fields = []
    for level in range(levels):
        time.sleep(0.05)
        field = rng.normal(scale=1 / (level + 1), size=(3,) + fixed.shape)
        fields.append(field)
    shift = sum(float(f.mean()) for f in fields)
    return {"volume": name, "levels": len(fields), "shift": shift}


def firmness(registered):
    return {**registered, "firmness": 7.5 - registered["shift"]}


class Station:
    def __init__(self, settings):
        self.settings = settings
        self.annotated = 0
        self.reports = []

    def run(self, client):
        annotations = client.map(
            annotate_slice, range(self.settings["slices"]), priority=5
        )
        volumes = [
            client.submit(
                register_volume,
                name,
                self.settings["levels"][name],
                priority=10,
                key=f"register_volume-{name}",
            )
            for name in self.settings["volumes"]
        ]
        reports = client.map(firmness, volumes, priority=10)
        wanted = set(reports)
        for future in as_completed(annotations + reports):
            value = future.result()
            if future in wanted:
                self.reports.append(value)
            else:
                self.annotated += 1

    def save(self):
        with open("station.json", "w") as out:
            json.dump(
                {"annotated": self.annotated, "reports": self.reports}, out, indent=1
            )


def main():
    station = Station(SETTINGS)
    with LocalCluster(
        n_workers=SETTINGS["workers"],
        threads_per_worker=2,
        memory_limit="450MB",
        dashboard_address=None,
    ) as cluster:
        with Client(cluster) as client:
            try:
                station.run(client)
            finally:
                station.save()
                print(
                    f"{station.annotated} slices annotated, {len(station.reports)} volumes registered"
                )


if __name__ == "__main__":
    main()

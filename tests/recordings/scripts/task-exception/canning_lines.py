"""Morning yield figures of the canning plants.

Eight plants deliver a CSV of their lines' counters over night. Each file is checked and summed up
on the cluster; plants are independent of each other, so one that is late does not stop the rest.
"""

import csv
import json
import random
import sys
import tempfile
from concurrent.futures import CancelledError
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

PLANTS = ["arles", "bremen", "cadiz", "delft", "evora", "fano", "gdansk", "hull"]
NEW_COUNTERS = {"cadiz", "fano", "hull"}  # had their counters exchanged last week


def deliver(folder):
    rng = random.Random(77)
    for plant in PLANTS:
        weight = "net_weight_g" if plant in NEW_COUNTERS else "net_weight"
        with open(folder / f"{plant}.csv", "w", newline="") as f:
            out = csv.DictWriter(f, ["line", "cans", "rejects", weight])
            out.writeheader()
            for line in range(60):
                out.writerow(
                    {
                        "line": line % 4,
                        "cans": rng.randint(900, 1100),
                        "rejects": rng.randint(0, 12),
                        weight: rng.randint(380, 420),
                    }
                )


def read_counters(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def line_weights(rows):
    tons = {}
    for row in rows:
        good = int(row["cans"]) - int(row["rejects"])
        tons[row["line"]] = (
            tons.get(row["line"], 0.0) + good * float(row["net_weight"]) / 1e6
        )
    return tons


def plant_yield(plant, path):
    rows = read_counters(path)
    tons = line_weights(rows)
    rejects = sum(int(r["rejects"]) for r in rows) / sum(int(r["cans"]) for r in rows)
    return {
        "plant": plant,
        "tons": round(sum(tons.values()), 3),
        "rejects": round(rejects, 5),
    }


class Morning:
    def __init__(self, client, folder):
        self.client = client
        self.folder = folder
        self.figures = []
        self.missing = []

    def run(self):
        futures = {
            self.client.submit(
                plant_yield,
                p,
                str(self.folder / f"{p}.csv"),
                key=f"plant-yield-{p}",
                retries=1,
            ): p
            for p in PLANTS
        }
        for future in as_completed(futures):
            try:
                self.figures.append(future.result())
            except (Exception, CancelledError):
                self.missing.append(futures[future])
                print(f"no figures from {futures[future]}")

    def publish(self):
        target = self.folder / "yield.json"
        target.write_text(
            json.dumps(sorted(self.figures, key=lambda f: f["plant"]), indent=1)
        )
        total = sum(f["tons"] for f in self.figures)
        print(f"{len(self.figures)} plants, {total:.1f} t, written to {target.name}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        deliver(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="350MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            morning = Morning(client, folder)
            morning.run()
            morning.publish()
    if morning.missing:
        sys.exit(f"{len(morning.missing)} of {len(PLANTS)} failed")


if __name__ == "__main__":
    main()

"""Bellows simulations: fatigue of pipe bellows over load cycles, for the catalogue of a maker of expansion joints.

An engineer starts it at the desk and follows the table as it fills.
"""

import math
import sys
import time

from dask import delayed
from distributed import Client, LocalCluster, as_completed

CONVOLUTIONS = range(4, 12)
WALLS = (0.6, 0.8, 1.0, 1.2)


def stress(convolutions, wall, movement):
    pitch = 180.0 / convolutions
    return 5.2 * movement * wall / (pitch**1.5) * 1000


@delayed(pure=True)
def cycles_to_crack(convolutions, wall):
    """Marches through load steps until the damage sum reaches one."""
    damage, cycles, until = 0.0, 0, time.monotonic() + 1.6
    while time.monotonic() < until:
        load = 4 + 3 * math.sin(cycles / 17)
        damage += (stress(convolutions, wall, load) / 9000) ** 3.4 * 1e-4
        cycles += 100
        time.sleep(0.01)
    return convolutions, wall, cycles, damage


class Table:
    def __init__(self, total):
        self.total, self.rows = total, []

    def add(self, row):
        self.rows.append(row)
        convolutions, wall, cycles, damage = row
        print(
            f"[{len(self.rows):2d}/{self.total}] {convolutions} convolutions, wall {wall} mm: "
            f"{cycles} cycles, damage {damage:.4f}",
            flush=True,
        )

    def save(self, path):
        with open(path, "w") as out:
            for row in sorted(self.rows):
                out.write(",".join(map(str, row)) + "\n")


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    jobs = [cycles_to_crack(c, w) for c in CONVOLUTIONS for w in WALLS]
    table = Table(len(jobs))
    try:
        print(f"{len(jobs)} bellows to simulate", flush=True)
        for future in as_completed(client.compute(jobs)):
            table.add(future.result())
    finally:
        table.save("bellows.csv")
        print(f"{len(table.rows)} rows saved to bellows.csv", flush=True)
        client.close()
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())

"""Wind forecast on a grid that is cut into strips.

Every strip is integrated by one long task; after each step it hands its outer rows to its neighbours. First a short
run on the coarse grid to spin up the fields, then the run on the fine grid that the wind farms get.
"""

import sys
import time
from dataclasses import dataclass, field

import numpy as np
from distributed import Client, LocalCluster, Queue, wait


@dataclass
class Grid:
    name: str
    strips: int
    rows: int
    columns: int
    steps: int
    patience: float = 30.0
    edges: dict = field(default_factory=dict)


COARSE = Grid("coarse", strips=3, rows=40, columns=120, steps=4)
FINE = Grid("fine", strips=6, rows=80, columns=480, steps=12, patience=22.0)


def edge_name(grid, source, target):
    return f"{grid}-edge-{source}-to-{target}"


def advect(block, above, below):
    padded = np.vstack([above, block, below])
    return 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]


def integrate_strip(grid, strip, strips, rows, columns, steps):
    rng = np.random.default_rng(strip)
    block = rng.normal(8.0, 2.0, size=(rows, columns))
    outgoing = {
        other: Queue(edge_name(grid, strip, other))
        for other in (strip - 1, strip + 1)
        if 0 <= other < strips
    }
    incoming = {other: Queue(edge_name(grid, other, strip)) for other in outgoing}
    for _ in range(steps):
        if strip - 1 in outgoing:
            outgoing[strip - 1].put(block[0].tolist())
        if strip + 1 in outgoing:
            outgoing[strip + 1].put(block[-1].tolist())
        above = (
            np.array(incoming[strip - 1].get()) if strip - 1 in incoming else block[0]
        )
        below = (
            np.array(incoming[strip + 1].get()) if strip + 1 in incoming else block[-1]
        )
        block = advect(block, above, below)
        time.sleep(0.05)
    return float(block.mean())


class Forecast:
    def __init__(self, client):
        self.client = client
        self.means = {}

    def open_edges(self, grid):
        for strip in range(grid.strips - 1):
            for pair in ((strip, strip + 1), (strip + 1, strip)):
                name = edge_name(grid.name, *pair)
                grid.edges[name] = Queue(name, client=self.client)

    def run(self, grid):
        print(
            f"{grid.name} grid: {grid.strips} strips of {grid.rows} x {grid.columns}, {grid.steps} steps",
            flush=True,
        )
        self.open_edges(grid)
        futures = [
            self.client.submit(
                integrate_strip,
                grid.name,
                strip,
                grid.strips,
                grid.rows,
                grid.columns,
                grid.steps,
                key=f"integrate_strip-{grid.name}-{strip}",
            )
            for strip in range(grid.strips)
        ]
        started = time.perf_counter()
        wait(futures, timeout=grid.patience)
        self.means[grid.name] = sum(self.client.gather(futures)) / grid.strips
        print(
            f"{grid.name} grid: {self.means[grid.name]:.2f} m/s, {time.perf_counter() - started:.1f} s",
            flush=True,
        )

    def publish(self):
        with open("forecast.csv", "w") as out:
            for name, mean in self.means.items():
                out.write(f"{name},{mean:.3f}\n")


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="350MB", dashboard_address=":0"
    )
    with cluster, Client(cluster) as client:
        forecast = Forecast(client)
        forecast.run(COARSE)
        try:
            forecast.run(FINE)
        finally:
            forecast.publish()


if __name__ == "__main__":
    sys.exit(main())

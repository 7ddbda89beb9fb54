"""Overlay the municipal zoning plan with the parcels of the land register.

For each zone a grid is rasterised at the cell size that the planner wrote into
``zones.yaml``; for each sheet of the register simple parcel statistics are made.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import dask
import numpy as np
import yaml
from distributed import Client, LocalCluster

dask.config.set(
    {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.target": False,
    }
)

ZONES_YAML = """
zones:
  - {name: harbour,    width: 2400, height: 1800, cell: 2.0}
  - {name: old_town,   width: 900,  height: 1100, cell: 2.0}
  - {name: riverside,  width: 3100, height: 700,  cell: 2.0}
  - {name: mill_lane,  width: 3000, height: 2600, cell: 0.2}
  - {name: north_park, width: 1500, height: 1500, cell: 2.0}
  - {name: industry_e, width: 2000, height: 2200, cell: 2.0}
"""


@dataclass(frozen=True)
class Zone:
    name: str
    width: float
    height: float
    cell: float


@dataclass(frozen=True)
class Sheet:
    number: int
    parcels: int


def rasterise_zone(zone):
    """Share of built area, from strips of the grid that are kept for the overlay."""
    columns = int(zone.width / zone.cell)
    rows = int(zone.height / zone.cell)
    strips = []
    step = max(1, 2_000_000 // columns)
    for first in range(0, rows, step):
        n = min(step, rows - first)
        y = np.arange(first, first + n, dtype="float64")[:, None]
        strips.append(np.sin(y / 37) + np.cos(np.arange(columns) / 53))
        time.sleep(0.08)
    built = sum(int((s > 0.8).sum()) for s in strips)
    return zone.name, built / (columns * rows)


def parcel_stats(sheet):
    """Median parcel size; the register answers slowly."""
    sizes = []
    for n in range(sheet.parcels):
        sizes.append(300 + (n * 7919 + sheet.number * 31) % 900)
        time.sleep(0.05)
    return sheet.number, float(np.median(sizes))


def overlay(stats, shares):
    lines = [f"sheet {n}: {m:.0f} m2" for n, m in stats]
    lines += [f"{name}: {share:.1%} built" for name, share in shares]
    return lines


def main():
    zones = [Zone(**z) for z in yaml.safe_load(ZONES_YAML)["zones"]]
    sheets = [Sheet(n, 30) for n in range(12)]
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="420MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        stats = [
            client.submit(parcel_stats, s, key=f"parcel_stats-{s.number}")
            for s in sheets
        ]
        shares = [
            client.submit(rasterise_zone, z, key=f"rasterise_zone-{z.name}", priority=1)
            for z in zones
        ]
        # the register's part of the report comes first
        first = client.gather(stats)
        lines = overlay(first, client.gather(shares))
        Path("overlay.txt").write_text("\n".join(lines))
        print("\n".join(lines))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()

"""Goshawk tracks: clean the positions of tagged birds and find their ranges.

The cluster grows with the work, its workers are renewed regularly since the
projection library is known to grow, and fetching is retried: the telemetry
portal answers every now and then with a refusal.
"""

import logging
import math
import random
import tempfile
import time
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("goshawk")


class PortalBusy(RuntimeError):
    pass


def fetch(bird, folder):
    """Positions of one bird; the portal refuses some birds at first."""
    marker = Path(folder, f"{bird}.asked")
    if bird % 9 == 4 and not marker.exists():
        marker.touch()
        raise PortalBusy(f"portal is busy, bird {bird}")
    rng = random.Random(bird)
    x = y = 0.0
    track = []
    for _ in range(800):
        x += rng.gauss(0, 0.3)
        y += rng.gauss(0, 0.3)
        track.append((x, y) if rng.random() > 0.02 else (x + 90, y))
    return track


def clean(track):
    time.sleep(0.15)
    kept = [track[0]]
    for point in track[1:]:
        if math.dist(point, kept[-1]) < 10:
            kept.append(point)
    return kept


def home_range(bird, track):
    cx = sum(p[0] for p in track) / len(track)
    cy = sum(p[1] for p in track) / len(track)
    radii = sorted(math.dist(p, (cx, cy)) for p in track)
    return bird, round(radii[int(len(radii) * 0.95)], 2)


def season(client, birds, folder):
    fetched = client.map(fetch, birds, folder=folder, retries=3, pure=False)
    cleaned = client.map(clean, fetched, retries=2)
    ranges = client.map(home_range, birds, cleaned)
    return dict(client.gather(ranges))


def main():
    dask.config.set(
        {
            "distributed.worker.lifetime.duration": "9s",
            "distributed.worker.lifetime.stagger": "2s",
            "distributed.worker.lifetime.restart": True,
        }
    )
    with tempfile.TemporaryDirectory(prefix="goshawk-") as folder:
        with LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster:
            cluster.adapt(minimum=1, maximum=3, interval="500ms", wait_count=4)
            with Client(cluster) as client:
                for year in (2024, 2025, 2026):
                    birds = list(range(year % 100 * 100, year % 100 * 100 + 40))
                    ranges = season(client, birds, folder)
                    log.info(
                        "%d: %d birds, median range %.2f km",
                        year,
                        len(ranges),
                        sorted(ranges.values())[20],
                    )
                    time.sleep(1.5)
    print("done")


if __name__ == "__main__":
    main()

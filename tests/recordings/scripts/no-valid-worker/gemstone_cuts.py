"""Proposals for the cutting of gemstones.

Scans of raw stones are cleaned, then a facet search is run for each stone. The search keeps big tables on the local
disk, so that it reserves a part of the worker's SCRATCH (in GB); how much depends on the weight of the stone.
"""

import math
import sys
import time

import click
import numpy as np
from distributed import Client, LocalCluster, as_completed

STONES = {
    "S-101": 2.4,
    "S-102": 3.1,
    "S-103": 4.8,
    "S-104": 11.6,
    "S-105": 1.9,
    "S-106": 3.7,
}


def clean_scan(stone, carat):
    rng = np.random.default_rng(int(carat * 1000))
    cloud = rng.normal(0, carat, size=(20_000, 3))
    return cloud[np.abs(cloud).max(axis=1) < 3 * carat]


def facet_search(cloud, carat, steps):
    best = (0.0, None)
    for step in range(steps):
        angle = math.pi * step / steps
        plane = np.array([math.cos(angle), math.sin(angle), 0.4])
        kept = float((cloud @ plane < carat).mean())
        best = max(best, (kept, angle))
    time.sleep(0.3)
    return best


def scratch_needed(carat):
    """Tables grow with the weight: 2 GB for the frame, 2 GB for each carat."""
    return 2 + math.ceil(2 * carat)


@click.command()
@click.option("--workers", default=2, show_default=True)
@click.option(
    "--scratch",
    default=20,
    show_default=True,
    help="GB of local disk that a worker gives",
)
@click.option(
    "--deadline", default=15.0, show_default=True, help="seconds for the whole tray"
)
def cuts(workers, scratch, deadline):
    proposals, errors = {}, []
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
            resources={"SCRATCH": scratch},
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = {}
        for stone, carat in STONES.items():
            cloud = client.submit(clean_scan, stone, carat, key=f"clean_scan-{stone}")
            future = client.submit(
                facet_search,
                cloud,
                carat,
                90,
                key=f"facet_search-{stone}",
                resources={"SCRATCH": scratch_needed(carat)},
            )
            futures[future] = stone
        try:
            for future in as_completed(futures, timeout=deadline):
                proposals[futures[future]] = future.result()
                click.echo(
                    f"{futures[future]}: keeps {proposals[futures[future]][0]:.1%}"
                )
        except TimeoutError as e:
            errors.append(e)
        finally:
            client.cancel([f for f in futures if not f.done()])
    click.echo(f"{len(proposals)} of {len(STONES)} stones have a proposal")
    if errors:
        click.echo("tray is not complete, the cutters cannot start", err=True)
        sys.exit(4)


if __name__ == "__main__":
    cuts()

"""Compare the surveyed joinery of the pagodas with the drawings.

A bracket set is a tree of nested lists: a joint holds the joints that rest
upon it.
"""

import argparse
import asyncio
import logging
import sys

import dask
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("pagoda_joints")

# name of the building and the height of its highest chain of joints
BUILDINGS = [
    ("east-gate", 40),
    ("bell-tower", 220),
    ("drum-tower", 180),
    ("sutra-hall", 900),
    ("lotus-pond", 35),
    ("great-mast", 400_000),
    ("west-gate", 42),
    ("tea-house", 60),
    ("kitchen", 25),
    ("moon-bridge", 310),
]


def build_tree(height, width=2):
    """Joints from the roof down to the ground."""
    tree = ["cap"]
    for _ in range(height):
        tree = [tree] + ["dowel"] * (width - 1)
    return tree


def allow_depth(height):
    """Bracket sets may be deeper than Python's default of 1000."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 4 * height + 2000))


def read_survey(building, height):
    return {"building": building, "height": height, "dowels": height + 1}


def count_joints(survey):
    return survey["building"], 2 * survey["height"] + 1


def compare_joinery(survey):
    """True where the surveyed tree equals the drawn one."""
    height = survey["height"]
    allow_depth(height)
    surveyed, drawn = build_tree(height), build_tree(height)
    return survey["building"], surveyed == drawn


async def compare_all(client):
    surveys = client.map(
        read_survey,
        [name for name, _ in BUILDINGS],
        [height for _, height in BUILDINGS],
    )
    for building, joints in await client.gather(client.map(count_joints, surveys)):
        log.info("%-12s %7d joints", building, joints)

    verdicts = {}
    comparisons = client.map(compare_joinery, surveys)
    async for future in as_completed(comparisons):
        building, equal = await future
        verdicts[building] = equal
        log.info("%-12s %s", building, "as drawn" if equal else "differs")
    return verdicts


async def run(args):
    cluster = LocalCluster(
        n_workers=args.workers,
        threads_per_worker=1,
        memory_limit="500MB",
        dashboard_address=None,
        asynchronous=True,
    )
    async with cluster, Client(cluster, asynchronous=True) as client:
        await client.wait_for_workers(args.workers, timeout=40)
        verdicts = await compare_all(client)
    log.info("%d of %d as drawn", sum(verdicts.values()), len(verdicts))
    return 0 if all(verdicts.values()) else 3


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    return asyncio.run(run(args))


if __name__ == "__main__":
    sys.exit(main())

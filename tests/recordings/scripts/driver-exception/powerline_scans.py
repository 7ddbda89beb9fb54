"""Clearance of power lines from laser scans.

A helicopter scans the spans of a line. Points near the conductors are picked on the cluster; this program puts
them together and computes the clearance of the whole line. It runs on the small control host, under the same
address-space limit that the host's service manager gives to all report programs.
"""

import argparse
import logging
import resource
import sys
from contextlib import ExitStack

import numpy as np
import psutil
from dask.distributed import Client, LocalCluster

log = logging.getLogger("powerline")
HEADROOM_MB = 360


def be_modest(megabytes):
    """What LimitAS= does in the unit file, for starts by hand."""
    used = psutil.Process().memory_info().vms
    limit = used + megabytes * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    log.info("address space limited to %d MB", limit // 2**20)


def scan_span(line, span, points):
    """Raw points of one span: x along the line, y across, z up, intensity."""
    rng = np.random.default_rng([len(line), span])
    cloud = rng.random((points, 4))
    cloud[:, 0] = span * 300 + cloud[:, 0] * 300
    cloud[:, 1] = (cloud[:, 1] - 0.5) * 40
    cloud[:, 2] *= 45
    return cloud


def near_conductors(cloud, sag):
    """Points not farther than 18 m from the conductors."""
    x = cloud[:, 0] % 300 / 300
    height = 32 - 4 * sag * x * (1 - x)
    dist = np.hypot(cloud[:, 1], cloud[:, 2] - height)
    return cloud[dist < 18.0]


def line_clearance(parts):
    """Smallest clearance per 50 m of the whole line."""
    points = np.concatenate(parts)
    order = np.argsort(points[:, 0], kind="stable")
    points = points[order]
    cells = (points[:, 0] // 50).astype(int)
    clearance = np.full(cells.max() + 1, np.inf)
    np.minimum.at(clearance, cells, 32 - points[:, 2])
    return clearance


def spans_of(client, line, spans, points):
    clouds = client.map(scan_span, [line] * spans, range(spans), points=points)
    return client.map(near_conductors, clouds, sag=6.5)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--points", type=int, default=600_000)
    ap.add_argument("lines", nargs="*", default=["L17:3", "L204:16"])
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    with ExitStack() as stack:
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=":0",
            )
        )
        client = stack.enter_context(Client(cluster))
        client.wait_for_workers(2, timeout=20)
        be_modest(HEADROOM_MB)
        for spec in args.lines:
            line, spans = spec.split(":")
            picked = spans_of(client, line, int(spans), args.points)
            parts = []
            for future in picked:
                parts.append(future.result())
                future.release()
            log.info(
                "%s: %d spans, %.1f million points",
                line,
                len(parts),
                sum(map(len, parts)) / 1e6,
            )
            clearance = line_clearance(parts)
            low = np.flatnonzero(clearance < 3.0)
            log.info(
                "%s: %d of %d cells with growth near the conductors",
                line,
                len(low),
                len(clearance),
            )
            del parts, picked
    return 0


if __name__ == "__main__":
    sys.exit(main())

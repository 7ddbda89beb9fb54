"""Lacquer boxes: nightly 3-D scans of the workshop, restoration priority of each box."""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import dask
import numpy as np
from distributed import Client, KilledWorker, LocalCluster, wait

log = logging.getLogger("lacquer_boxes")

SIDE = 850
FRAGILE = {5, 13}


def scan_box(box):
    """Depth map of the lid in micrometres."""
    time.sleep(0.15)  # turntable
    rng = np.random.default_rng(box)
    depth = rng.normal(40.0, 2.0, size=(SIDE, SIDE))
    depth[100 : 100 + box * 5, 200:220] = np.nan  # flakes that came off
    return depth


def crack_share(depth):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        loss = np.isnan(depth).mean()
        np.log(np.array([-1.0, loss + 1e-9]))  # RuntimeWarning, the -1 is a guard value
    return float(loss)


def mesh_box(box):
    """Meshing by the vendor's library, which is known to leave the process for some scans."""
    if box in FRAGILE:
        os._exit(70)
    return box * 12 + 3


def vendor_check(box):
    """Command-line checker: 3 means "measure again by hand"."""
    code = f"import sys; print('box {box}'); sys.exit(3 if {box} % 7 == 0 else 0)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True
    )
    return done.returncode


def mesh_one(client, box):
    """A box that takes its worker along is measured by hand tomorrow."""
    try:
        return client.submit(mesh_box, box, pure=False).result()
    except KilledWorker as exc:
        log.warning(
            "box %d can't be meshed (%s), goes to the manual list",
            box,
            type(exc).__name__,
        )
        return None


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boxes", type=int, default=44)
    parser.add_argument("--memory", default="300MB")
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.memory.target": 0.55,
            "distributed.worker.memory.spill": 0.75,
            "distributed.worker.memory.pause": 0.92,
        }
    )
    with tempfile.TemporaryDirectory(prefix="lacquer-") as tmp:
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                memory_limit=args.memory,
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            # all scans are needed twice, they may go to disk in between
            scans = client.map(scan_box, range(args.boxes))
            wait(scans)
            spilled = sum(f.stat().st_size for f in Path(tmp).rglob("*") if f.is_file())
            log.info("%d scans, %.0f MB on disk", len(scans), spilled / 1e6)
            shares = client.gather(client.map(crack_share, scans))
            del scans

            meshes = [mesh_one(client, box) for box in (2, 5, 9, 13, 20)]
            manual = meshes.count(None)
            log.info("meshed: %s", meshes)
            client.wait_for_workers(1, timeout=60)

            codes = client.gather(
                client.map(vendor_check, range(args.boxes), pure=False)
            )
            again = [box for box, code in enumerate(codes) if code]
            log.warning("checker wants %d boxes again: %s", len(again), again)

            order = sorted(range(args.boxes), key=lambda b: -shares[b])[:5]
            log.info("restore first: %s; %d by hand", order, manual)
            if manual != len(FRAGILE):
                log.error("expected %d boxes for the manual list", len(FRAGILE))
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

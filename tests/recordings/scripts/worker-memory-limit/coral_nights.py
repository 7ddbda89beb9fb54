"""Coral cover per reef from the night's camera sleds; the atlas is only printed with full coverage."""

import argparse
import logging
import sys
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("coral")

# frames per reef as counted by the sled
SLEDS = {
    "Heron": 9,
    "Ningaloo": 11,
    "Tubbataha": 8,
    "Apo": 6,
    "Raja": 10,
    "Palmyra": 60,
    "Aldabra": 7,
    "Bonaire": 6,
    "Belize": 9,
    "Eilat": 5,
}


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--frame-mb", type=int, default=7)
    p.add_argument("--worker-memory", default="330MB")
    p.add_argument("--coverage", type=float, default=1.0)
    return p.parse_args(argv)


def decode_frame(reef, n, megabytes):
    rng = np.random.default_rng(len(reef) * 1000 + n)
    frame = np.empty(megabytes * 2**20, dtype=np.uint8)
    frame[:] = rng.integers(0, 255, dtype=np.uint8)
    frame[::64] = rng.integers(90, 160, dtype=np.uint8)
    return frame


def stitch_reef(reef, frames, megabytes):
    """All frames of a reef lie side by side before the seams are evened out."""
    strip = []
    for n in range(frames):
        strip.append(decode_frame(reef, n, megabytes))
        time.sleep(0.08)
    level = np.mean([frame[::4096].mean() for frame in strip])
    return {"reef": reef, "frames": frames, "cover": round(float(level) / 255, 3)}


def run_reefs(client, megabytes):
    """One reef after the other; the cover of a finished reef is kept here."""
    cover, missing = {}, []
    for reef, frames in SLEDS.items():
        future = client.submit(
            stitch_reef, reef, frames, megabytes, key=f"stitch_reef-{reef}"
        )
        wait(future, timeout=90)
        if future.status == "finished":
            cover[reef] = future.result()["cover"]
        else:
            missing.append(reef)
    return cover, missing


def atlas(cover):
    rows = [f"{reef:12s} {share:6.1%}" for reef, share in sorted(cover.items())]
    return "\n".join(rows)


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit=args.worker_memory,
        dashboard_address=":0",
    )
    client = Client(cluster)
    try:
        cover, missing = run_reefs(client, args.frame_mb)
    finally:
        client.close()
        cluster.close()
    log.info("%d of %d reefs have a cover", len(cover), len(SLEDS))
    if len(cover) / len(SLEDS) < args.coverage:
        sys.exit(f"atlas not printed: {len(missing)} of {len(SLEDS)} reefs missing")
    print(atlas(cover))


if __name__ == "__main__":
    main()

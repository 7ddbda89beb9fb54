#!/usr/bin/env python
"""Digitised sitar tapes: cut the reels into windows and index their loudness.

Reels are cut by `cut_reel`; the windows travel through a bounded queue to the indexers, so that
the cutters never run far ahead (a window is large on the production machine).
"""

import argparse
import logging
import time

import numpy as np
from dask.distributed import Client, LocalCluster, Queue, as_completed

log = logging.getLogger("sitar_samples")

RATE = 8000
WINDOW = RATE // 2


def read_reel(reel, seconds=8):
    """One reel as float32 samples: three strings and some tape noise."""
    rng = np.random.default_rng(reel)
    t = np.arange(seconds * RATE, dtype="float32") / RATE
    tone = sum(np.sin(2 * np.pi * f * t) for f in (138.6, 207.7, 277.2))
    return (tone * np.exp(-0.2 * t) + rng.normal(0, 0.05, t.size)).astype("float32")


def cut_reel(reel, windows):
    """Cut one reel; returns the number of windows handed to the indexers."""
    samples = read_reel(reel)
    sent = 0
    for start in range(0, samples.size - WINDOW + 1, WINDOW):
        piece = samples[start : start + WINDOW]
        windows.put(
            {"reel": reel, "at": start / RATE, "rms": float(np.sqrt(np.mean(piece**2)))}
        )
        sent += 1
    print(f"reel {reel}: {sent} windows", flush=True)
    return sent


def index_windows(n, windows, expected):
    """Collect `expected` windows from the queue; returns the loudest."""
    got, loudest = 0, None
    while got < expected:
        window = windows.get()
        got += 1
        if loudest is None or window["rms"] > loudest["rms"]:
            loudest = window
    return n, got, loudest


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--reels", type=int, default=12)
    p.add_argument("--indexers", type=int, default=2)
    p.add_argument("--depth", type=int, default=10, help="windows in flight at most")
    p.add_argument(
        "--limit", type=float, default=28, help="seconds without any finished step"
    )
    return p.parse_args()


def watch(futures, limit):
    """Log what finishes; a step that does not finish within the limit ends the job."""
    started = time.monotonic()
    for n, (future, result) in enumerate(
        as_completed(futures, with_results=True, timeout=limit), 1
    ):
        log.info(
            "%.1f s: %s done (%d of %d): %s",
            time.monotonic() - started,
            future.key,
            n,
            len(futures),
            result,
        )


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="250MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        windows = Queue("sitar-windows", client=client, maxsize=args.depth)
        per_reel = 8 * RATE // WINDOW
        total = per_reel * args.reels
        cutters = [
            client.submit(
                cut_reel, reel, windows, key=f"cut_reel-{reel:02d}", pure=False
            )
            for reel in range(args.reels)
        ]
        share = total // args.indexers
        indexers = [
            client.submit(
                index_windows, n, windows, share, key=f"index_windows-{n}", pure=False
            )
            for n in range(args.indexers)
        ]
        log.info("%d reels, %d windows, %d indexers", args.reels, total, args.indexers)
        watch(cutters + indexers, args.limit)
        log.info("index complete")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

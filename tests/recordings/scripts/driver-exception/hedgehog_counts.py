"""Hedgehog counts from garden cameras: detect visits, rank the nights, print the best ones."""

import argparse
import logging
import sys
import time

import dask
import numpy as np
from dask import delayed
from dask.distributed import Client, LocalCluster

log = logging.getLogger("hedgehogs")


@delayed
def night_frames(night, frames=400):
    rng = np.random.default_rng(night)
    time.sleep(0.1)
    return rng.random((frames, 24, 24), dtype="float32")


@delayed
def background(clips):
    return np.median(np.stack([clip[:50] for clip in clips]), axis=(0, 1))


@delayed
def visits(night, clip, reference, threshold=0.26):
    motion = np.abs(clip - reference).mean(axis=(1, 2))
    busy = motion > threshold
    starts = int((busy[1:] & ~busy[:-1]).sum())
    return {"night": night, "visits": starts, "longest": longest_run(busy)}


def longest_run(flags):
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        best = max(best, run)
    return best


def rank_nights(scored, top):
    """The nights with most visits first."""
    ordered = sorted(scored, key=lambda s: s["visits"], reverse=True)
    return ordered[:top]


def average(scored):
    return delayed(lambda rows: sum(r["visits"] for r in rows) / len(rows))(scored)


def check_cameras(nights):
    """Every night must have frames before the expensive part starts."""
    sizes = dask.compute(*[delayed(len)(night_frames(n)) for n in nights])
    empty = [n for n, size in zip(nights, sizes) if size == 0]
    if empty:
        raise SystemExit(f"no frames for nights {empty}")
    return sum(sizes)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--top", type=int, default=5)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    nights = list(range(1, args.nights + 1))

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        log.info("%d frames in %d nights", check_cameras(nights), len(nights))
        clips = {n: night_frames(n) for n in nights}
        (reference,) = dask.persist(background([clips[n] for n in nights[:4]]))
        scored = [visits(n, clips[n], reference) for n in nights]

        mean = average(scored).compute()
        log.info("%.1f visits a night", mean)

        best = dask.compute(*rank_nights(scored, args.top))
        for row in best:
            log.info(
                "night %(night)2d: %(visits)3d visits, longest %(longest)d frames", row
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

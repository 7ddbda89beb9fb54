"""Quarry line: saws cut the blocks to slabs, graders look at each slab.

Saws and graders are long tasks which talk through a queue; it is bounded since the
slab scans are big and the graders are slower than the saws.
"""

import argparse
import logging
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster, Queue, TimeoutError, wait

log = logging.getLogger("granite_blocks")

BLOCKS = ["bianco-14", "bianco-15", "kashmir-02", "labrador-31", "labrador-32"]
SLABS_PER_BLOCK = 6
DONE = "::done::"


def scan_slab(block, number):
    rng = np.random.default_rng(number + len(block))
    return rng.integers(0, 255, size=(64, 64), dtype="uint8")


def saw_block(block, queue):
    """Cuts one block and hands each slab on."""
    for number in range(SLABS_PER_BLOCK):
        time.sleep(0.2)
        queue.put(
            {"block": block, "slab": number, "scan": scan_slab(block, number).tobytes()}
        )
    return block, SLABS_PER_BLOCK


def grade_slabs(line, queue):
    """Takes slabs until the end mark, returns the counts per grade."""
    counts = {"A": 0, "B": 0, "C": 0}
    while True:
        item = queue.get()
        if item == DONE:
            return line, counts
        pixels = np.frombuffer(item["scan"], dtype="uint8")
        time.sleep(0.3)
        spread = float(pixels.std())
        counts["A" if spread < 73 else "B" if spread < 74 else "C"] += 1


def start_line(client, graders):
    queue = Queue("slabs", client=client, maxsize=8)
    saws = [
        client.submit(saw_block, b, queue, key=f"saw_block-{b}", pure=False)
        for b in BLOCKS
    ]
    looks = [
        client.submit(grade_slabs, n, queue, key=f"grade_slabs-{n}", pure=False)
        for n in range(graders)
    ]
    return queue, saws, looks


def finish_line(queue, saws, looks, deadline):
    try:
        wait(saws, timeout=deadline)
    except TimeoutError:
        cut = sum(f.status == "finished" for f in saws)
        raise RuntimeError(
            f"saws not through after {deadline} s: {cut} of {len(saws)} blocks cut"
        ) from None
    for _ in looks:
        queue.put(DONE)
    return [f.result(timeout=deadline) for f in looks]


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--graders", type=int, default=1)
    ap.add_argument("--deadline", type=float, default=22)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="250MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            queue, saws, looks = start_line(client, args.graders)
            log.info("%d blocks on the saws, %d grader(s)", len(saws), len(looks))
            totals = {}
            for line, counts in finish_line(queue, saws, looks, args.deadline):
                log.info("line %d: %s", line, counts)
                for grade, n in counts.items():
                    totals[grade] = totals.get(grade, 0) + n
            log.info("graded: %s", totals)
    return 0


if __name__ == "__main__":
    sys.exit(main())

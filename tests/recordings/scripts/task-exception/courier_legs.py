"""Joins the scanned legs of the courier network into transit times per day batch."""

import argparse
import json
import logging
import os
import random
import shutil
import statistics
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("courier_legs")

HUBS = ["CGN", "LEJ", "HHN", "BRU", "LGG", "LUX"]


def make_batches(folder, days):
    """The scan files of the handhelds, one JSON lines file per day."""
    rng = random.Random(5)
    for day in range(1, days + 1):
        with open(os.path.join(folder, f"scans-{day:02d}.jsonl"), "w") as f:
            for n in range(300):
                arrive = rng.randint(0, 1380)
                leave = arrive + rng.randint(3, 55)
                if day == 9 and n == 217:
                    leave = arrive - 42
                f.write(
                    json.dumps(
                        {"id": n, "hub": rng.choice(HUBS), "in": arrive, "out": leave}
                    )
                    + "\n"
                )


def claim(folder, batch):
    """A batch belongs to one task only: two of them would count the parcels twice."""
    path = os.path.join(folder, f"{batch}.claim")
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(fd, str(os.getpid()).encode())
    os.close(fd)
    return path


def read_scans(folder, batch):
    with open(os.path.join(folder, f"{batch}.jsonl")) as f:
        return [json.loads(line) for line in f]


def dwell_minutes(scan):
    dwell = scan["out"] - scan["in"]
    if dwell < 0:
        raise ArithmeticError(
            f"negative dwell of {dwell} min for parcel {scan['id']} at hub {scan['hub']}"
        )
    return dwell


def join_legs(folder, batch):
    ticket = claim(folder, batch)
    time.sleep(0.5)
    by_hub = {}
    for scan in read_scans(folder, batch):
        by_hub.setdefault(scan["hub"], []).append(dwell_minutes(scan))
    result = {hub: statistics.median(v) for hub, v in by_hub.items()}
    os.unlink(ticket)
    return batch, result


def worst_hub(results):
    sums = {}
    for hubs in results.values():
        for hub, minutes in hubs.items():
            sums.setdefault(hub, []).append(minutes)
    return max(((statistics.mean(v), hub) for hub, v in sums.items()))


def run(client, folder, days, retries):
    batches = [f"scans-{d:02d}" for d in range(1, days + 1)]
    # the share is an NFS mount which hiccups now and then
    futures = client.map(
        join_legs, [folder] * days, batches, retries=retries, pure=False
    )
    results = {}
    for future, (batch, hubs) in as_completed(futures, with_results=True):
        results[batch] = hubs
        log.info("%s joined, %d hubs", batch, len(hubs))
    return results


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--days", type=int, default=14)
    ap.add_argument("--retries", type=int, default=3)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    folder = tempfile.mkdtemp(prefix="legs-")
    try:
        make_batches(folder, args.days)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="250MiB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            results = run(client, folder, args.days, args.retries)
            log.info("slowest hub: %s (%.1f min)", *reversed(worst_hub(results)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

"""Nightly harvest forecast: sugar readings of every block -> expected tonnes per variety.

The refractometer vans drop one CSV per vineyard block into the inbox during the day.
Each file is claimed (renamed) before it is read, so that the ad-hoc job of the
agronomists and this one never count a block twice.
"""

import argparse
import csv
import logging
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("vineyard")

VARIETIES = ["riesling", "silvaner", "kerner", "pinot"]
TARGET_BRIX = {"riesling": 21.0, "silvaner": 20.0, "kerner": 22.0, "pinot": 22.5}


def deliver_day(inbox: Path, blocks: int, seed: int = 11) -> None:
    """The day's deliveries as the vans leave them."""
    rng = random.Random(seed)
    for b in range(blocks):
        with open(inbox / f"block_{b:02d}.csv", "w", newline="") as fh:
            out = csv.writer(fh, delimiter=";")
            out.writerow(["row", "vines", "brix", "kg_per_vine"])
            for row in range(60):
                brix = f"{rng.uniform(17, 24):.1f}"
                if b == 7 and row >= 41:
                    brix = brix.replace(".", ",")
                out.writerow(
                    [row, rng.randint(70, 95), brix, f"{rng.uniform(1.4, 2.6):.2f}"]
                )


def claim(path: str) -> str:
    claimed = path + ".claimed"
    os.rename(path, claimed)
    return claimed


def block_summary(path: str, variety: str) -> dict:
    """Tonnes that will be ripe in a block, with the mean sugar weighted by vines."""
    claimed = claim(path)
    time.sleep(0.7)
    vines = weight = sugar = ripe_kg = 0.0
    with open(claimed, newline="") as fh:
        for rec in csv.DictReader(fh, delimiter=";"):
            n = int(rec["vines"])
            brix = float(rec["brix"])
            kg = float(rec["kg_per_vine"])
            vines += n
            sugar += n * brix
            weight += n * kg
            if brix >= TARGET_BRIX[variety]:
                ripe_kg += n * kg
    return {
        "block": os.path.basename(path)[:-4],
        "variety": variety,
        "brix": sugar / vines,
        "tonnes": weight / 1000,
        "ripe": ripe_kg / 1000,
    }


def by_variety(rows: list[dict]) -> dict:
    totals: dict[str, list[float]] = {}
    for r in rows:
        acc = totals.setdefault(r["variety"], [0.0, 0.0])
        acc[0] += r["tonnes"]
        acc[1] += r["ripe"]
    return {k: (round(t, 1), round(r, 1)) for k, (t, r) in totals.items()}


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--blocks", type=int, default=32)
    ap.add_argument(
        "--retries", type=int, default=2, help="the NAS drops a handle now and then"
    )
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="vineyard-") as tmp:
        inbox = Path(tmp) / "inbox"
        inbox.mkdir()
        deliver_day(inbox, args.blocks)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            paths = sorted(str(p) for p in inbox.glob("block_*.csv"))
            log.info("%d blocks in the inbox", len(paths))
            jobs = {}
            for i, p in enumerate(paths):
                f = client.submit(
                    block_summary, p, VARIETIES[i % 4], retries=args.retries, pure=False
                )
                jobs[f] = p
            rows, missing = [], []
            for fut in as_completed(jobs):
                if fut.status == "finished":
                    rows.append(fut.result())
                else:
                    missing.append((jobs[fut], fut.exception()))
            for path, exc in missing:
                log.error("%s: %s: %s", os.path.basename(path), type(exc).__name__, exc)
            totals = client.submit(by_variety, rows).result(timeout=120)
            for variety, (tonnes, ripe) in sorted(totals.items()):
                log.info("%-9s %7.1f t, ripe %6.1f t", variety, tonnes, ripe)
    if missing:
        sys.exit(
            f"forecast incomplete: {len(missing)} of {len(paths)} blocks have no result"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

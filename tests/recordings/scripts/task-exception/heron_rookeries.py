"""Nightly roll-up of the heron rookery counts: CSV of every site -> parquet -> regional totals."""

import argparse
import logging
import os
import random
import sys
import tempfile
import time

import pandas as pd
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("rookeries")
REGIONS = {"fen": range(0, 4), "coast": range(4, 8), "moor": range(8, 12)}


def site_name(number):
    return f"site-{number:02d}"


def make_inbox(folder, nights=90):
    """The field laptops upload one CSV per site; here we make them."""
    rng = random.Random(11)
    for number in range(12):
        stamp = "observed_at" if number != 6 else "observation_time"
        lines = [f"{stamp},nest,adults,chicks"]
        for night in range(nights):
            for nest in range(6):
                lines.append(
                    f"2026-06-{1 + night % 30:02d}T21:00,{nest},{rng.randint(0, 2)},{rng.randint(0, 5)}"
                )
        with open(os.path.join(folder, site_name(number) + ".csv"), "w") as out:
            out.write("\n".join(lines) + "\n")


def ingest_site(inbox, staging, name):
    frame = pd.read_csv(os.path.join(inbox, name + ".csv"))
    time.sleep(0.5)
    frame["day"] = pd.to_datetime(frame["observed_at"]).dt.date.astype(str)
    frame["birds"] = frame["adults"] + frame["chicks"]
    daily = frame.groupby("day", as_index=False)[["adults", "chicks", "birds"]].sum()
    daily.to_parquet(os.path.join(staging, name + ".parquet"))
    return len(daily)


def region_total(staging, region, names):
    parts = [
        pd.read_parquet(os.path.join(staging, name + ".parquet")) for name in names
    ]
    time.sleep(0.5)
    return region, int(pd.concat(parts)["birds"].sum())


def run_ingest(client, inbox, staging):
    futures = {
        client.submit(
            ingest_site, inbox, staging, site_name(n), key=f"ingest_site-{site_name(n)}"
        ): site_name(n)
        for n in range(12)
    }
    rows = skipped = 0
    for future in as_completed(futures):
        if future.status == "error":
            skipped += 1
            continue
        rows += future.result()
    log.info(
        "ingest finished: %d daily rows, %d of %d sites skipped",
        rows,
        skipped,
        len(futures),
    )
    return rows


def run_regions(client, staging):
    futures = [
        client.submit(
            region_total,
            staging,
            region,
            [site_name(n) for n in numbers],
            key=f"region_total-{region}",
        )
        for region, numbers in REGIONS.items()
    ]
    return dict(client.gather(futures))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--settle", type=float, default=3.0, help="seconds to let the file share settle"
    )
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="rookeries-") as base:
        inbox, staging = os.path.join(base, "inbox"), os.path.join(base, "staging")
        os.mkdir(inbox)
        os.mkdir(staging)
        make_inbox(inbox)
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                memory_limit="280MiB",
                dashboard_address=":0",
                local_directory=base,
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info(
                "cluster with %d workers at %s", args.workers, cluster.scheduler_address
            )
            run_ingest(client, inbox, staging)
            time.sleep(args.settle)
            totals = run_regions(client, staging)
            for region, birds in sorted(totals.items()):
                log.info("%-6s %8d birds", region, birds)
    return 0


if __name__ == "__main__":
    sys.exit(main())

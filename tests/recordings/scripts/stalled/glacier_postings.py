"""Nightly mass-balance postings for the glacier network.

Every station delivers one day of ablation-stake readings.  A task per station
turns them into a posting (water equivalent gained or lost) and appends it to
the season's ledger, a plain CSV file that the web map reads.  Only one task
may write the ledger at a time.
"""

import argparse
import csv
import functools
import logging
import os
import random
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster, Lock, as_completed

log = logging.getLogger("glacier_postings")

DENSITY = {"ice": 0.9, "firn": 0.6, "snow": 0.35}
HEADER = ["station", "day", "surface", "balance_mm_we"]


@functools.lru_cache(maxsize=None)
def ledger_lock():
    return Lock("season-ledger")


def make_readings(station, seed, n_stakes=12):
    rng = random.Random(seed * 1000 + station)
    surfaces = ["ice", "firn", "snow"]
    rows = []
    for stake in range(n_stakes):
        rows.append(
            {
                "stake": stake,
                "surface": rng.choice(surfaces),
                "before_mm": rng.uniform(900, 1500),
                "after_mm": rng.uniform(900, 1500),
            }
        )
    if station == 7:
        rows[-1]["surface"] = "debris"
    return {"station": station, "rows": rows}


def check_readings(readings):
    time.sleep(0.3)
    rows = [r for r in readings["rows"] if 0 < r["before_mm"] < 5000]
    return {**readings, "rows": rows}


def balance_rows(readings, day):
    for r in readings["rows"]:
        change = r["before_mm"] - r["after_mm"]
        yield [
            readings["station"],
            day,
            r["surface"],
            round(change * DENSITY[r["surface"]], 2),
        ]


def post_station(readings, day, ledger):
    """Append this station's balance to the ledger and return the row count."""
    lock = ledger_lock()
    lock.acquire()
    n = 0
    with open(ledger, "a", newline="") as f:
        out = csv.writer(f)
        for row in balance_rows(readings, day):
            out.writerow(row)
            n += 1
        f.flush()
    time.sleep(0.2)
    lock.release()
    return {"station": readings["station"], "rows": n}


def run(client, args, ledger):
    with open(ledger, "w", newline="") as f:
        csv.writer(f).writerow(HEADER)

    raw = [
        client.submit(make_readings, s, args.seed, key=f"make_readings-{s:02d}")
        for s in range(args.stations)
    ]
    checked = [
        client.submit(check_readings, r, key=f"check_readings-{s:02d}")
        for s, r in enumerate(raw)
    ]
    posted = [
        client.submit(post_station, c, args.day, ledger, key=f"post_station-{s:02d}")
        for s, c in enumerate(checked)
    ]
    log.info("%d stations submitted", len(posted))

    done, rejected = 0, []
    for fut in as_completed(posted, timeout=args.limit):
        if fut.status == "error":
            # a bad station must not hold up the others: the field team gets a mail
            log.warning("%s rejected: %r", fut.key, fut.exception())
            rejected.append(fut.key)
            continue
        info = fut.result()
        done += 1
        log.info(
            "posted station %02d (%d rows), %d done",
            info["station"],
            info["rows"],
            done,
        )
    return done, rejected


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--stations", type=int, default=24)
    p.add_argument("--day", default="2026-07-14")
    p.add_argument("--seed", type=int, default=4)
    p.add_argument("--limit", type=float, default=35, help="seconds for all postings")
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="glacier-") as work:
        ledger = os.path.join(work, "ledger.csv")
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=work,
            ) as cluster,
            Client(cluster) as client,
        ):
            done, rejected = run(client, args, ledger)
        log.info("%d posted, %d rejected", done, len(rejected))
        if rejected:
            log.warning("to be mailed to the field team: %s", ", ".join(rejected))
    return 0


if __name__ == "__main__":
    sys.exit(main())

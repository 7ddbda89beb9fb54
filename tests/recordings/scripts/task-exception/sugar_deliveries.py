"""Nightly load of the sugar refinery's deliveries.

Every depot drops one CSV file a day into the inbox; the job sums pallets and tonnes for each depot and month, and
publishes the table for the accountants.
"""

import argparse
import logging
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import dask
import dask.dataframe as dd
from distributed import Client, LocalCluster

log = logging.getLogger("sugar")
DEPOTS = ["antwerp", "bremen", "calais", "dover", "esbjerg", "gdansk"]


def fake_inbox(folder: Path, rows: int) -> None:
    """Stands in for the SFTP drop."""
    rng = random.Random(7)
    folder.mkdir(parents=True)
    for depot in DEPOTS:
        lines = ["delivery,depot,day,pallets,tonnes"]
        for i in range(rows):
            pallets = str(rng.randint(1, 30))
            if depot == "gdansk" and i % 97 == 96:
                pallets = ""
            lines.append(
                f"{i},{depot},2026-{rng.randint(1, 9):02d}-{rng.randint(1, 28):02d},{pallets},{rng.random() * 24:.2f}"
            )
        (folder / f"{depot}.csv").write_text("\n".join(lines) + "\n")


def monthly(inbox: Path):
    frame = dd.read_csv(str(inbox / "*.csv"), blocksize=None, parse_dates=["day"])
    frame = frame[frame["tonnes"] > 0.1]
    frame["month"] = frame["day"].dt.month
    return frame.groupby(["depot", "month"])[["pallets", "tonnes"]].sum()


def with_attempts(what, times: int, pause: float):
    last = None
    for attempt in range(1, times + 1):
        try:
            return what()
        except Exception as exc:  # the inbox is on NFS, which hiccups now and then
            log.warning(
                "attempt %d of %d did not succeed: %s",
                attempt,
                times,
                type(exc).__name__,
            )
            last = exc
            time.sleep(pause)
    raise RuntimeError(
        f"deliveries could not be loaded after {times} attempts"
    ) from last


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--attempts", type=int, default=2)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    work = Path(tempfile.mkdtemp(prefix="sugar-"))
    inbox = work / "inbox"
    fake_inbox(inbox, args.rows)
    dask.config.set({"distributed.scheduler.worker-saturation": 1.1})
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        log.info("cluster is up: %d workers", len(client.scheduler_info()["workers"]))
        table = with_attempts(lambda: monthly(inbox).compute(), args.attempts, 0.5)
        table.to_csv("monthly.csv")
        log.info("published %d lines", len(table))
    finally:
        client.close()
        cluster.close()
        shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

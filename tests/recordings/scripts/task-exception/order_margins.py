"""Nightly margins of a mail-order house.

Reads the order lines of every depot, joins them with the purchase prices, and writes one margin
table per depot.  Started by cron at 02:30; it brings up its own scheduler and two workers, because the
shared cluster is reserved for the planners at that time.
"""

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from dask.distributed import Client, as_completed

log = logging.getLogger("margins")
DEPOTS = ["aachen", "bruges", "cahors", "dover", "elche", "faro"]


def write_inputs(folder):
    rng = np.random.default_rng(20261128)
    for depot in DEPOTS:
        n = 4000
        frame = pd.DataFrame(
            {
                "sku": rng.integers(1, 300, n),
                "qty": rng.integers(1, 9, n),
                "price": rng.uniform(3, 80, n).round(2).astype(str),
            }
        )
        if depot == "dover":
            frame.loc[1733, "price"] = "12,50"
        frame.to_csv(folder / f"{depot}.csv", index=False)
    (folder / "purchase.json").write_text(
        json.dumps({str(s): 1.5 + s % 17 for s in range(1, 300)})
    )


class OwnCluster:
    def __init__(self, folder, workers=2):
        self.folder, self.count, self.procs = folder, workers, []

    def __enter__(self):
        self.file = self.folder / "scheduler.json"
        self._start(
            "scheduler",
            "--port",
            "0",
            "--host",
            "127.0.0.1",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        while not self.file.exists():
            time.sleep(0.1)
        for i in range(self.count):
            self._start(
                "worker",
                "--scheduler-file",
                str(self.file),
                "--nthreads",
                "2",
                "--no-nanny",
                "--name",
                f"margin-{i}",
                "--memory-limit",
                "400MB",
                "--no-dashboard",
                "--local-directory",
                str(self.folder),
            )
        return self

    def _start(self, what, *args):
        out = open(self.folder / f"{what}-{len(self.procs)}.log", "w")
        self.procs.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", what, *args], stdout=out, stderr=out
            )
        )

    def __exit__(self, *exc):
        # the box is small: whatever happened, nothing may stay behind for the planners' morning
        for proc in reversed(self.procs):
            proc.send_signal(signal.SIGKILL)
        for proc in self.procs:
            proc.wait()


def load_lines(path):
    return pd.read_csv(path, dtype={"price": str})


def price_lines(lines, depot, purchase):
    lines = lines.assign(price=lines["price"].map(float))
    lines["cost"] = lines["sku"].astype(str).map(purchase)
    lines["margin"] = (lines["price"] - lines["cost"]) * lines["qty"]
    return lines.groupby("sku", as_index=False)["margin"].sum().assign(depot=depot)


def one_round(client, folder, depots, purchase):
    futures = {}
    for depot in depots:
        lines = client.submit(load_lines, str(folder / f"{depot}.csv"), pure=False)
        futures[client.submit(price_lines, lines, depot, purchase, pure=False)] = depot
    failed = []
    for future in as_completed(list(futures)):
        depot = futures[future]
        try:
            table = future.result()
        except Exception:
            log.warning("depot %s not priced, it goes to the second round", depot)
            failed.append(depot)
        else:
            table.to_csv(folder / f"margins-{depot}.csv", index=False)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        write_inputs(folder)
        purchase = json.loads((folder / "purchase.json").read_text())
        left = DEPOTS
        with OwnCluster(folder) as cluster:
            client = Client(scheduler_file=str(cluster.file))
            client.wait_for_workers(2, timeout=30)
            for turn in range(args.rounds):
                log.info("round %d: %s", turn + 1, ", ".join(left))
                left = one_round(client, folder, left, purchase)
                if not left:
                    break
        if left:
            sys.exit(f"margins incomplete: {len(left)} of {len(DEPOTS)} depots failed")
        log.info(
            "margins of %d depots written by %s",
            len(DEPOTS),
            os.environ.get("USER", "cron"),
        )


if __name__ == "__main__":
    main()

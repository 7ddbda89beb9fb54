"""Monthly spice quotas: add up the landings of each island and list exporters who went over their share.

The script brings its own small cluster with it (one scheduler, two workers) and takes it down at the end,
so that the batch host is clean for the next job.
"""

import argparse
import logging
import pathlib
import socket
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
from dask import delayed
from distributed import Client

log = logging.getLogger("quotas")
ISLANDS = ["banda", "run", "ai", "lonthor", "hatta", "rozengain"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class PrivateCluster:
    """A scheduler and workers as child processes; ended when the job is over."""

    def __init__(self, workers=2):
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.logs = pathlib.Path("cluster-logs")
        self.logs.mkdir(exist_ok=True)
        self.children = []
        port = self.address.rsplit(":", 1)[1]
        self.scheduler = self._run(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            port,
            "--no-dashboard",
        )
        for n in range(workers):
            self.children.append(
                self._run(
                    f"worker-{n}",
                    "worker",
                    self.address,
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "400MB",
                    "--name",
                    f"spice-{n}",
                    "--no-dashboard",
                    "--local-directory",
                    tempfile.mkdtemp(),
                )
            )

    def _run(self, label, *args):
        out = open(self.logs / f"{label}.log", "w")
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *args], stdout=out, stderr=out
        )

    def close(self):
        # the workers first, then the scheduler; no time for ceremonies on this host
        for child in self.children:
            child.terminate()
        self.scheduler.kill()
        for child in [*self.children, self.scheduler]:
            child.wait(10)


def landings(island, month):
    rng = np.random.default_rng(len(island) * 101 + month)
    return pd.DataFrame(
        {
            "exporter": rng.choice(["Tan", "Oei", "Latif", "Hasan", "Kusuma"], 4000),
            "kg": rng.gamma(2.0, 40.0, 4000),
        }
    ).assign(island=island)


def subtotal(frame):
    return frame.groupby("exporter", as_index=False)["kg"].sum()


def moisture_correction(island):
    if island == "run":
        raise ValueError(f"no hygrometer readings for {island}")
    return 0.97


def read_shares():
    # the ministry's sheet
    return pd.DataFrame(
        {
            "exporter": ["Tan", "Oei", "Latif", "Hasan", "Kusuma"],
            "share_kg": [410_000, 380_000, 395_000, 380_000, 390_000],
        }
    )


def over_quota(totals, shares):
    merged = totals.merge(shares, on="exporter")
    merged["excess"] = merged["kg"] - merged["quota_kg"]
    return merged[merged["excess"] > 0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--month", type=int, default=10)
    opts = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    cluster = PrivateCluster()
    try:
        client = Client(cluster.address, timeout=20)
        client.wait_for_workers(2, timeout=20)
        corrections = {}
        for island in ISLANDS:
            try:
                corrections[island] = client.submit(
                    moisture_correction, island
                ).result()
            except ValueError as err:
                log.warning("%s: taken as dry (%s)", island, err)
                corrections[island] = 1.0
        parts = [delayed(subtotal)(delayed(landings)(i, opts.month)) for i in ISLANDS]
        frames = client.compute(parts, sync=True)
        for island, frame in zip(ISLANDS, frames):
            frame["kg"] *= corrections[island]
        totals = pd.concat(frames).groupby("exporter", as_index=False)["kg"].sum()
        log.info("landings of %d exporters added up", len(totals))
        report = over_quota(totals, read_shares())
        report.to_csv("over_quota.csv", index=False)
    finally:
        log.info("taking the cluster down")
        cluster.close()


if __name__ == "__main__":
    main()

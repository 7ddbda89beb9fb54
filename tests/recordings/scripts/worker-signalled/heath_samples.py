"""Takes in heathland vegetation samples and fits the season model on them."""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("heath")

HOUSEKEEPING = """
import os, pathlib, signal, sys, time
allowance, folder = float(sys.argv[1]), pathlib.Path(sys.argv[2])
time.sleep(allowance)
for entry in sorted(folder.glob("*.pid")):
    os.kill(int(entry.read_text()), signal.SIGTERM)
    entry.unlink()
"""


def deliver(inbox, plots=8):
    rng = np.random.default_rng(23)
    for plot in range(plots):
        pd.DataFrame(
            {
                "species": rng.choice(["calluna", "erica", "molinia", "betula"], 300),
                "cover": rng.beta(2, 5, 300),
                "week": rng.integers(14, 40, 300),
            }
        ).to_csv(inbox / f"plot_{plot:02d}.csv", index=False)


def announce(run_dir):
    (Path(run_dir) / f"heath-{os.getpid()}.pid").write_text(str(os.getpid()))


def take_in(path, accepted):
    """Each delivery is read once and then filed."""
    frame = pd.read_csv(path)
    shutil.move(path, accepted)
    return frame


def season_curve(frame, rounds):
    curve = frame.groupby("week").cover.mean()
    for _ in range(rounds):
        curve = curve.rolling(3, min_periods=1, center=True).mean()
        time.sleep(0.25)
    return curve


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        inbox, accepted, run_dir = (Path(tmp) / d for d in ("inbox", "accepted", "run"))
        for folder in (inbox, accepted, run_dir):
            folder.mkdir()
        deliver(inbox)
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(announce, str(run_dir))
            paths = sorted(str(p) for p in inbox.glob("*.csv"))
            frames = client.map(take_in, paths, accepted=str(accepted))
            wait(frames)
            log.info("%d deliveries taken in", len(frames))
            helper = subprocess.Popen(
                [sys.executable, "-c", HOUSEKEEPING, "4", str(run_dir)]
            )
            curves = client.map(season_curve, frames, rounds=5)
            try:
                table = pd.concat(client.gather(curves), axis=1).mean(axis=1)
            finally:
                helper.terminate()
                helper.wait()
            log.info("highest cover in week %d", int(table.idxmax()))


if __name__ == "__main__":
    main()

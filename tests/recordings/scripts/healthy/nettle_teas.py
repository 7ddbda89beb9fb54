"""Nettle tea blends: taste scores by panel and lot, then one ranking.

The panel room's machines are switched off by whoever leaves last, so a worker
may go in the middle of it; `--switch-off` plays that.
"""

import argparse
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, fire_and_forget, wait  # noqa: F401


def panel_scores(lot, tasters=400):
    rng = np.random.default_rng(lot)
    time.sleep(0.5)
    return pd.DataFrame(
        {
            "lot": lot,
            "taster": np.arange(tasters),
            "grassy": rng.normal(5, 1.2, tasters),
            "sweet": rng.normal(4 + lot % 5 * 0.3, 1.0, tasters),
        }
    )


def normalise(frame):
    time.sleep(0.3)
    out = frame.copy()
    for column in ("grassy", "sweet"):
        out[column] = (out[column] - out[column].mean()) / out[column].std()
    out["lift"] = frame["sweet"].mean() - frame["grassy"].mean()
    return out


def lot_score(frame):
    return int(frame["lot"].iloc[0]), float(frame["lift"].mean())


def switch_off(cluster, name):
    """Someone leaves the panel room."""
    nanny = cluster.workers[name]
    os.kill(nanny.process.pid, signal.SIGKILL)
    print("worker", name, "was switched off", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lots", type=int, default=24)
    parser.add_argument(
        "--switch-off", type=float, default=4.0, help="after so many seconds"
    )
    args = parser.parse_args()

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        frames = client.map(panel_scores, range(args.lots))
        scaled = client.map(normalise, frames)
        scores = client.map(lot_score, scaled)
        timer = threading.Timer(args.switch_off, switch_off, [cluster, 1])
        timer.start()
        try:
            wait(scores, timeout=50)
            ranking = sorted(client.gather(scores), key=lambda s: -s[1])
        finally:
            timer.cancel()

    assert len(ranking) == args.lots
    with open("ranking.csv", "w") as out:
        out.write("lot,lift\n")
        for lot, lift in ranking:
            out.write(f"{lot},{lift:.4f}\n")
    print("best lots:", [lot for lot, _ in ranking[:3]])


if __name__ == "__main__":
    main()

"""Nightly roll-up of smart-meter readings per feeder."""

import logging
import os
import tempfile

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("meter")
FEEDERS = ["north", "south", "harbour", "airport", "campus"]


def land_files(root):
    rng = np.random.default_rng(4)
    for feeder in FEEDERS:
        frame = pd.DataFrame(
            {
                "meter": rng.integers(100, 140, 500),
                "kwh": rng.gamma(2.0, 1.5, 500).round(3),
            }
        )
        if feeder == "harbour":
            frame = frame.rename(columns={"kwh": "energy_kwh"})
        frame.to_csv(os.path.join(root, f"{feeder}.csv"), index=False)


def load_feeder(root, feeder):
    frame = pd.read_csv(os.path.join(root, f"{feeder}.csv"))
    try:
        frame["kwh"] = frame["kwh"].clip(lower=0)
    except KeyError as err:
        log.warning("feeder %s skipped: %s", feeder, err)
        return {"feeder": feeder, "meters": 0, "kwh": 0.0}
    per_meter = frame.groupby("meter")["kwh"].sum()
    return {
        "feeder": feeder,
        "meters": int(per_meter.size),
        "kwh": float(per_meter.sum()),
    }


def mean_per_meter(summary):
    return summary["feeder"], summary["kwh"] / summary["meters"]


def main():
    with tempfile.TemporaryDirectory() as root:
        land_files(root)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            summaries = [client.submit(load_feeder, root, f) for f in FEEDERS]
            means = client.map(mean_per_meter, summaries)
            table = dict(client.gather(means))
            for feeder, value in sorted(table.items()):
                print(f"{feeder:10s} {value:8.2f} kWh/meter")


if __name__ == "__main__":
    main()

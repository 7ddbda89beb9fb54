"""Runs the estuary model for every region; regions without a result are listed for the morning shift."""

import os
import sys
import time

import dask
import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 1})

REGIONS = {
    "solway": 0.41,
    "humber": 0.36,
    "severn": 0.52,
    "mersey": 0.44,
    "tamar": 0.0,
    "dee": 0.39,
}


class Engine:
    """Binding of the hydraulic engine: same calls, same ways of ending."""

    def __init__(self, roughness):
        self.roughness = roughness

    def _check(self):
        if self.roughness <= 0:
            os._exit(64)

    def run(self, hours):
        self._check()
        level = np.zeros(200)
        for hour in range(hours):
            level = (
                0.5 * (level + np.roll(level, 1)) + np.sin(hour / 2) * self.roughness
            )
            time.sleep(0.02)
        return float(level.max())


def model_region(region, roughness):
    return region, Engine(roughness).run(48)


def bathymetry(region):
    time.sleep(0.3)
    return region, len(region) * 1000


def main():
    missing, peaks = [], {}
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            print("cells:", dict(client.gather(client.map(bathymetry, list(REGIONS)))))
            for region, roughness in REGIONS.items():
                future = client.submit(
                    model_region, region, roughness, key=f"model_region-{region}"
                )
                try:
                    peaks[region] = future.result()[1]
                except KilledWorker as error:
                    print(f"{region}: no result ({type(error).__name__})")
                    missing.append(region)
    for region, peak in peaks.items():
        print(f"{region}: {peak:.2f} m")
    if missing:
        sys.exit(
            f"{len(missing)} of {len(REGIONS)} regions without a forecast: {', '.join(missing)}"
        )


if __name__ == "__main__":
    main()

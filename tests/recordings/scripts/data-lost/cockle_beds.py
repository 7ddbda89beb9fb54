"""Stock estimate of the cockle beds, in two steps.

Step one lays the survey grid out on the workers and interpolates it; step two reads quotas off the same
grid.  Between both the house's janitor looks for worker processes that grew above their allowance.
"""

import os
import signal
import sys
import time

import numpy as np
from distributed import Client, LocalCluster, wait

ALLOWANCE_MB = 60  # per worker process, agreed when there was less in the image
BEDS = ["north-bank", "mussel-scar", "gull-flat", "ferry-sand", "pike-low", "west-hook"]


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as handle:
        for line in handle:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def interpolate(grid, bed):
    rows = np.random.default_rng(len(bed)).integers(0, grid.shape[0], 500)
    time.sleep(0.2)
    return bed, float(grid[rows].mean())


def quota(grid, bed, density, share):
    time.sleep(0.2)
    return bed, round(float(grid.max()) * density * share, 3)


class Janitor:
    """Ends the fattest worker when one is above the allowance; a nanny brings a new one up."""

    def __init__(self, client, allowance_mb):
        self.client = client
        self.allowance_mb = allowance_mb

    def sweep(self):
        pids = self.client.run(os.getpid)
        sizes = {pid: resident_mb(pid) for pid in pids.values()}
        fat = {pid: size for pid, size in sizes.items() if size > self.allowance_mb}
        for pid in fat:
            os.kill(pid, signal.SIGKILL)
        return len(fat)


def step_one(client, survey):
    grid = client.scatter(survey, hash=False)
    futures = client.map(interpolate, [grid] * len(BEDS), BEDS)
    wait(futures, timeout=20)
    return grid, dict(client.gather(futures))


def step_two(client, grid, densities):
    futures = [
        client.submit(quota, grid, bed, density, 0.33)
        for bed, density in densities.items()
    ]
    return dict(client.gather(futures))


def main():
    survey = np.random.default_rng(2026).gamma(2.0, 30.0, size=(3000, 400))
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        grid, densities = step_one(client, survey)
        print("step one:", len(densities), "beds", flush=True)
        ended = Janitor(client, ALLOWANCE_MB).sweep()
        if ended:
            print(f"janitor: {ended} processes replaced", flush=True)
            time.sleep(2)
            client.wait_for_workers(2, timeout=20)
        quotas = step_two(client, grid, densities)
        for bed, tonnes in quotas.items():
            print(f"{bed:12} {tonnes:10.3f} t")
    except Exception as error:
        print(
            f"step two could not be finished: {type(error).__name__}", file=sys.stderr
        )
        raise SystemExit(1) from error
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()

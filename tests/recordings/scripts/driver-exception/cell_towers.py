"""Handover statistics of the cell towers, started when the calibration is there."""

import time

from dask.distributed import Client, Event, LocalCluster


def calibrate(region):
    time.sleep(0.5)
    if region != "west":
        Event(f"calibrated-{region}").set()
    return region


def handovers(region, tower):
    Event(f"calibrated-{region}").wait()
    return tower * 3


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            regions = ["north", "east", "west"]
            cal = client.map(calibrate, regions)
            client.gather(cal)
            print("calibration done for", regions)
            for region in regions:
                stats = client.map(handovers, [region] * 3, [1, 2, 3], pure=False)
                total = client.submit(sum, stats)
                print(region, total.result(timeout=8))


if __name__ == "__main__":
    main()

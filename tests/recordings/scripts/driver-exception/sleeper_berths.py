"""Sleeper berths: revenue of the night trains per border station and class, for the controller's morning sheet."""

import json
import random
import sys
import time

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, as_completed

STATIONS = ("Basel", "Brenner", "Passau", "Villach")
CLASSES = ("couchette", "double", "single")
CLOSED = {"Basel"}  # works on the line until the 30th


class GatewayBusy(ConnectionError):
    pass


def bookings(train, night, closed):
    """One train's berths as the reservation gateway gives them."""
    rng = np.random.default_rng(train)
    if random.random() < 0.25:
        raise GatewayBusy(f"reservation gateway: 503 for train {train}")
    time.sleep(0.05)
    open_stations = [name for name in STATIONS if name not in closed]
    size = int(rng.integers(60, 120))
    return pd.DataFrame(
        {
            "train": train,
            "night": night,
            "border": rng.choice(open_stations, size),
            "berth": rng.choice(CLASSES, size, p=[0.6, 0.3, 0.1]),
            "fare": rng.normal(95, 20, size).round(2),
        }
    )


def loyalty_points(train):
    if train % 7 == 0:
        raise ValueError(f"train {train} belongs to a partner, no points")
    return train * 3


def collect(client, trains, night):
    frames = []
    futures = client.map(
        bookings, trains, night=night, closed=CLOSED, retries=12, pure=False
    )
    for future, frame in as_completed(futures, with_results=True):
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def points(client, trains):
    total = 0
    for future in as_completed(client.map(loyalty_points, trains)):
        try:
            total += future.result()
        except ValueError as error:
            print("skipped:", error, file=sys.stderr)
    return total


def revenue_lines(frame):
    table = frame.pivot_table(
        index="berth", columns="border", values="fare", aggfunc="sum"
    )
    lines = []
    for berth in CLASSES:
        row = {"class": berth}
        for station in STATIONS:
            row[station] = round(float(table[station][berth]), 2)
        lines.append(row)
    return lines


def main():
    night = "2026-11-27"
    trains = list(range(470, 500))
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=None, memory_limit="400MB"
    )
    client = Client(cluster)
    try:
        frame = collect(client, trains, night)
        print(f"{len(frame)} berths on {frame['train'].nunique()} trains", flush=True)
        print("loyalty points:", points(client, trains), flush=True)
        with open("sheet.json", "w") as stream:
            json.dump({"night": night, "lines": revenue_lines(frame)}, stream, indent=1)
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Rainfall climatology of the upland gauges.

Each day is a file with one row per hour (local time) and one column per gauge.
The days of a month become one array (day, hour, gauge); from it come the daily
course, the wettest hours and the main patterns (singular values).
"""

import os
import sys
import time
from datetime import date, timedelta

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, wait

GAUGES = 48
FIRST_DAY = date(2026, 10, 15)
DAYS = 21


def write_days(folder):
    """The data logger's export (local time, as the hydrologists asked for)."""
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(15)
    for n in range(DAYS):
        day = FIRST_DAY + timedelta(days=n)
        hours = 25 if day == date(2026, 10, 25) else 24
        rain = rng.gamma(0.3, 1.4, size=(hours, GAUGES)).astype("float32")
        np.savetxt(os.path.join(folder, f"{day:%Y%m%d}.txt"), rain, fmt="%.2f")


@dask.delayed(pure=True)
def load_day(path):
    rain = np.loadtxt(path, dtype="float32")
    rain[rain > 180] = np.nan
    return rain


def month_cube(folder):
    days = []
    for name in sorted(os.listdir(folder)):
        day = da.from_delayed(
            load_day(os.path.join(folder, name)), shape=(24, GAUGES), dtype="float32"
        )
        days.append(day)
    return da.stack(days, axis=0)


def wettest(block):
    return np.nanmax(block, axis=(0, 1), keepdims=True)


def climatology(cube):
    by_week = cube.rechunk({0: 7, 1: -1, 2: 16})
    course = da.nanmean(by_week, axis=0)
    peaks = by_week.map_blocks(
        wettest,
        chunks=((1,) * by_week.numblocks[0], (1,), by_week.chunks[2]),
        dtype="float32",
    )
    matrix = da.nan_to_num(cube).reshape(-1, GAUGES).rechunk({1: -1})
    _, strength, _ = da.linalg.svd(matrix)
    return course, peaks.max(axis=0), strength


def main():
    begin = time.perf_counter()
    folder = "gauges"
    write_days(folder)
    with Client(
        n_workers=2, threads_per_worker=1, memory_limit="450MB", dashboard_address=None
    ) as client:
        cube = month_cube(folder)
        print(f"cube of {cube.shape}, {cube.npartitions} blocks", flush=True)
        parts = client.compute(climatology(cube))
        wait(parts)
        course, peaks, strength = client.gather(parts)
    print("wettest hour of the day:", int(course.mean(axis=1).argmax()))
    print("highest hourly sum: %.1f mm" % float(peaks.max()))
    print("patterns:", np.round(strength[:4], 1))
    print("took %.1f s" % (time.perf_counter() - begin))
    return 0


if __name__ == "__main__":
    sys.exit(main())

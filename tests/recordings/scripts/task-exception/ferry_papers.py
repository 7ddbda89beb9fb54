"""Reads the passenger manifests of a ferry line; tries three times since the share is flaky."""

import logging
import os
import tempfile
import time

import dask
from dask import delayed
from dask.distributed import Client, LocalCluster

log = logging.getLogger("ferry")


def drop_manifests(folder):
    for i in range(6):
        name = "Åland" if i == 4 else "Aland"
        enc = "latin-1" if i == 4 else "utf-8"
        with open(
            os.path.join(folder, f"manifest_{i:02d}.txt"), "w", encoding=enc
        ) as f:
            f.writelines(f"{name};{p}\n" for p in range(500))


@delayed
def parse_manifest(path):
    time.sleep(0.3)
    with open(path, encoding="utf-8") as f:
        return [line.strip().split(";") for line in f]


@delayed
def head_count(parts):
    return sum(len(p) for p in parts)


def attempt(folder):
    paths = sorted(os.path.join(folder, p) for p in os.listdir(folder))
    return dask.compute(head_count([parse_manifest(p) for p in paths]))[0]


def with_attempts(fn, *args, tries=3):
    for n in range(1, tries + 1):
        try:
            return fn(*args)
        except Exception as e:
            log.warning("attempt %d failed (%s), waiting", n, type(e).__name__)
            time.sleep(1.5)
    raise RuntimeError(f"share still unavailable after {tries} attempts, giving up")


def main():
    with tempfile.TemporaryDirectory() as folder:
        drop_manifests(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster):
                print("passengers:", with_attempts(attempt, folder))


if __name__ == "__main__":
    main()

"""Weekly menu plan of the works canteens.

For each canteen the dishes are scored against the guests' past choices, and
the best ones go to menu.csv. The plan is written beside the old one and only
takes its place when it is complete.
"""

import contextlib
import os
import pathlib
import time

import click
import dask
import numpy as np
from distributed import Client, LocalCluster

OUT = pathlib.Path("plan")


@contextlib.contextmanager
def published(folder, name):
    """Collect lines, and put the finished file in the place of the old one."""
    lines = []
    part = folder / f"{name}.part"
    try:
        yield lines
        part.write_text("\n".join(lines) + "\n")
    finally:
        os.replace(part, folder / name)
        print(f"{name} is published")


def guests(canteen, days):
    rng = np.random.default_rng(canteen)
    head_count = {0: 400, 1: 650, 2: 500, 3: 14_000}[canteen]
    return rng.integers(0, 60, size=(head_count, days))


def preferences(choices, dishes=60):
    counts = np.zeros((choices.shape[0], dishes), dtype="f4")
    for day in range(choices.shape[1]):
        counts[np.arange(choices.shape[0]), choices[:, day]] += 1
    return counts / choices.shape[1]


def similarity(pref):
    """How alike two guests eat: one row and one column per guest."""
    blocks = []
    for start in range(0, pref.shape[0], 500):
        blocks.append(pref[start : start + 500] @ pref.T)
        time.sleep(0.15)
    return np.concatenate(blocks)


def best_dishes(canteen, choices, top):
    pref = preferences(choices)
    alike = similarity(pref)
    alike /= alike.sum(axis=1, keepdims=True)
    score = (alike @ pref).mean(axis=0)
    return canteen, np.argsort(score)[::-1][:top].tolist()


@click.command()
@click.option("--days", default=90, show_default=True)
@click.option("--top", default=5, show_default=True)
def plan(days, top):
    OUT.mkdir(exist_ok=True)
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit="350MB",
    )
    with cluster, Client(cluster) as client, published(OUT, "menu.csv") as lines:
        past = [client.submit(guests, c, days, key=f"guests-{c}") for c in range(4)]
        futures = [
            client.submit(best_dishes, c, p, top, key=f"best_dishes-{c}")
            for c, p in enumerate(past)
        ]
        for canteen, dishes in client.gather(futures):
            lines.append(f"{canteen}," + " ".join(map(str, dishes)))


if __name__ == "__main__":
    plan()

"""Which shops of the mall are visited together?

Reads the door counters' events by week, counts the pairs of visitors and shops
that coincide and gives the marketing team a table of affinities.
"""

import argparse
import sys

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client

SHOPS = 120


def events(week, people):
    """Door events of one week: week 47 has the device identifiers unhashed."""
    rng = np.random.default_rng(week)
    count = 60_000
    devices = rng.integers(0, people, count)
    if week == 47:
        devices = rng.integers(0, 2**31, count)
    return pd.DataFrame(
        {
            "week": np.full(count, week),
            "device": devices,
            "shop": rng.integers(0, SHOPS, count),
            "minutes": rng.exponential(9, count).round(1),
        }
    )


META = {"week": "i8", "device": "i8", "shop": "i8", "minutes": "f8"}


def visit_matrix(frame):
    """Devices by shops, with the device number as the row."""
    rows = int(frame["device"].max()) + 1
    matrix = np.zeros((rows, SHOPS))
    np.add.at(matrix, (frame["device"].to_numpy(), frame["shop"].to_numpy()), 1)
    return matrix


def co_visits(frame):
    matrix = visit_matrix(frame) > 0
    together = matrix.T.astype("i8") @ matrix.astype("i8")
    return together


def top_pairs(tables, count):
    total = sum(tables)
    np.fill_diagonal(total, 0)
    order = np.argsort(np.triu(total).ravel())[::-1][:count]
    return [(int(i) // SHOPS, int(i) % SHOPS, int(total.ravel()[i])) for i in order]


def build(weeks, people, count):
    frame = dd.from_map(
        events,
        weeks,
        people=people,
        meta=pd.DataFrame({k: pd.Series(dtype=v) for k, v in META.items()}),
    )
    long_stays = frame[frame["minutes"] > 2]
    tables = [dask.delayed(co_visits)(part) for part in long_stays.to_delayed()]
    return dask.delayed(top_pairs)(tables, count)


def run(args):
    with Client(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="500MB",
        dashboard_address=None,
        processes=True,
    ) as client:
        print("cluster", client.scheduler_info()["type"], "weeks", args.weeks)
        graph = build(args.weeks, args.people, args.top)
        future = client.compute(graph, retries=2)
        for first, second, together in future.result():
            print(f"shop {first:>3} with shop {second:>3}: {together}")


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, nargs="+", default=[44, 45, 46, 47])
    parser.add_argument("--people", type=int, default=8000)
    parser.add_argument("--top", type=int, default=10)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(run(parse()))

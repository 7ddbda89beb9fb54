"""Theatre group: walking routes of the ushers, from the seats they have served.

Seats of a hall that lie close to each other are one cluster; for that, all
distances within a hall are needed.  Halls are small (some hundred seats).
"""

import functools
import logging
import os
import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("routes")

HALLS = ["globe", "lyric", "rose", "swan"]


def timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        log.info("%s ...", function.__name__)
        result = function(*args, **kwargs)
        log.info("%s done", function.__name__)
        return result

    return wrapper


@timed
def import_seats(folder):
    rng = np.random.default_rng(99)
    frames = []
    for hall in HALLS:
        count = int(rng.integers(300, 700))
        frames.append(
            pd.DataFrame(
                {
                    "hall": hall,
                    "x": rng.uniform(0, 40, count),
                    "y": rng.uniform(0, 25, count),
                }
            )
        )
    # the open-air stage sends one entry for each ticket, not for each seat
    count = 700_000
    frames.append(
        pd.DataFrame(
            {
                "hall": "open air",
                "x": rng.uniform(0, 90, count),
                "y": rng.uniform(0, 70, count),
            }
        )
    )
    for number, frame in enumerate(frames):
        frame.to_parquet(os.path.join(folder, f"seats{number}.parquet"))


def seat_distances(xy):
    steps = xy[:, None, :] - xy[None, :, :]
    return np.sqrt((steps**2).sum(axis=2))


def neighbours(part, radius):
    rows = []
    for hall, seats in part.groupby("hall"):
        distances = seat_distances(seats[["x", "y"]].to_numpy())
        close = (distances < radius).sum(axis=1) - 1
        rows.append({"hall": hall, "seats": len(seats), "mean_close": close.mean()})
    return pd.DataFrame(rows, columns=["hall", "seats", "mean_close"])


@timed
def first_look(seats):
    """Extent of each hall; only for the log."""
    extent = seats[["x", "y"]].max().compute()
    log.info("largest hall %.0f x %.0f m", extent["x"], extent["y"])


@timed
def routes(seats, radius):
    meta = {"hall": "str", "seats": "int64", "mean_close": "float64"}
    return seats.map_partitions(neighbours, radius, meta=meta).compute()


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    with tempfile.TemporaryDirectory() as folder:
        import_seats(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster):
                seats = dd.read_parquet(folder)
                first_look(seats)
                for attempt in (1, 2):
                    try:
                        table = routes(seats, radius=1.5)
                        break
                    except Exception as error:
                        log.warning("attempt %d: %s", attempt, type(error).__name__)
                        if attempt == 2:
                            raise
                table.to_csv("routes.csv", index=False)


if __name__ == "__main__":
    main()

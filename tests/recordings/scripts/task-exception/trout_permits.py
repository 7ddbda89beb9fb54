"""Trout permits: price the permits sold at the lakes and hand them to the council.

Extraction runs in one small cluster of threads (it is mostly waiting), pricing
in a second one of processes.  Permits are few but priced with many rules.
"""

import argparse
import datetime as dt
import logging
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logger = logging.getLogger(__name__)

LAKES = ["arven", "brede", "clun", "dovey", "esk", "fowey"]
KINDS = pd.CategoricalDtype(["adult", "junior", "senior", "club"])
TARIFF = {"adult": 24.0, "junior": 9.0, "senior": 14.0, "club": 60.0}


class KioskDown(ConnectionError):
    pass


def fetch_kiosk(lake, day):
    """Permits sold at one lake on one day."""
    time.sleep(0.05)
    if lake == "clun":
        raise KioskDown(f"kiosk at {lake} does not answer")
    return sales(lake, day)


def sales(lake, day):
    seed = sum(map(ord, lake)) * 1000 + day.toordinal()
    rng = np.random.default_rng(seed)
    n = 4000
    frame = pd.DataFrame(
        {
            "permit": np.arange(n),
            "lake": lake,
            "kind": pd.Categorical(rng.choice(KINDS.categories, n), dtype=KINDS),
            "days": rng.integers(1, 15, n),
            "age": rng.integers(6, 90, n),
            "pension": rng.random(n) < 0.15,
        }
    )
    # the council's relief for invalids is entered at one lake only, so far
    frame["relief"] = (lake == "esk") & (rng.random(n) < 0.01)
    return frame


def fetch_all(day):
    with LocalCluster(
        n_workers=1, threads_per_worker=4, processes=False, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            futures = {lake: client.submit(fetch_kiosk, lake, day) for lake in LAKES}
            frames = {}
            for lake, future in futures.items():
                try:
                    frames[lake] = future.result()
                except KioskDown as exc:
                    logger.warning("%s, taking the paper list instead", exc)
                    frames[lake] = sales(lake, day)
    return frames


def correct_kinds(frame):
    """Kinds as the tariff has them: by age and by pension."""
    frame = frame.copy()
    frame.loc[frame["age"] < 16, "kind"] = "junior"
    frame.loc[frame["pension"] & (frame["age"] >= 60), "kind"] = "senior"
    if frame["relief"].any():
        frame.loc[frame["relief"], "kind"] = "invalid"
    return frame


def price(frame):
    rate = frame["kind"].map(TARIFF).astype("float64")
    return frame.assign(fee=rate * np.sqrt(frame["days"]))


def price_all(frames):
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with Client(cluster):
            permits = dd.concat(
                [dd.from_pandas(f, npartitions=2) for f in frames.values()]
            )
            permits = permits.map_partitions(correct_kinds, meta=permits._meta)
            meta = permits._meta.assign(fee=pd.Series(dtype="float64"))
            priced = permits.map_partitions(price, meta=meta)
            fees, count = dask.compute(
                priced.groupby("lake")["fee"].sum(), priced["permit"].count()
            )
    logger.info("%d permits priced", count)
    return fees


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--day", type=dt.date.fromisoformat, default=dt.date(2026, 11, 27)
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    frames = fetch_all(args.day)
    fees = price_all(frames)
    fees.round(2).to_csv(f"fees_{args.day}.csv")


if __name__ == "__main__":
    main()

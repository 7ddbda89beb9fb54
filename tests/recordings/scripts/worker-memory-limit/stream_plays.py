"""Listening sessions of a music streaming service, for the royalties run.

Plays of the day are shuffled by account so that the sessions of one account can be cut in one place.
"""

import logging
import sys

import numpy as np
import pandas as pd

import dask
import dask.dataframe as dd
from distributed import Client, LocalCluster

log = logging.getLogger("royalties")
HOURS = 12
PLAYS = 300_000
WEB_PLAYER = (
    1  # plays without a login have been booked on this account since the spring release
)
GAP = 1800.0


def plays_of_hour(hour: int) -> pd.DataFrame:
    rng = np.random.default_rng(hour)
    account = rng.integers(1000, 500_000, PLAYS)
    account[rng.random(PLAYS) < 0.9] = WEB_PLAYER
    frame = pd.DataFrame(
        {"account": account, "start": hour * 3600 + rng.random(PLAYS) * 3600}
    )
    for name in (
        "seconds",
        "bitrate",
        "latitude",
        "longitude",
        "skips",
        "loudness",
        "rate",
    ):
        frame[name] = rng.random(PLAYS)
    return frame


def cut_sessions(part: pd.DataFrame) -> pd.DataFrame:
    part = part.sort_values(["account", "start"])
    new = (part["start"].diff() > GAP) | (part["account"].diff() != 0)
    part = part.assign(session=new.cumsum())
    return part.groupby(["account", "session"], as_index=False)[
        ["seconds", "rate"]
    ].sum()


def sessions(hours: int):
    plays = dd.from_map(plays_of_hour, range(hours))
    meta = pd.DataFrame(
        {"account": [1], "session": [1], "seconds": [0.1], "rate": [0.1]}
    ).iloc[:0]
    by_account = plays.shuffle(on="account", npartitions=hours, shuffle_method="tasks")
    return by_account.map_partitions(cut_sessions, meta=meta)


def check_input(client):
    counts = client.gather(client.map(lambda h: len(plays_of_hour(h)), range(2)))
    log.info("plays in the first hours: %s", counts)


def main() -> int:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="350MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            check_input(client)
            payable = sessions(HOURS)
            total = payable["rate"].sum()
            count = payable["session"].count()
            total, count = dask.compute(total, count)
            log.info("%d sessions, %.2f to pay", count, total)
            with open("royalties.txt", "w") as stream:
                stream.write(f"{count} {total:.2f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

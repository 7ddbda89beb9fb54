"""Referrals of the clinics: cleans the codes and counts them per ward, on a small in-process cluster."""

import contextlib
import logging
import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
WARDS = ["cardio", "ortho", "neuro", "derma"]


def export(folder, months=4):
    """What the clinic's own system exports at the end of the month."""
    for month in range(1, months + 1):
        rng = np.random.default_rng(month)
        n = 800
        pd.DataFrame(
            {
                "referral": np.arange(n) + month * 10_000,
                "ward": rng.choice(WARDS, n),
                "code": [
                    f"R{int(c):03d}-{int(v)}"
                    for c, v in zip(rng.integers(0, 400, n), rng.integers(1, 4, n))
                ],
                "urgent": rng.random(n) < 0.1,
            }
        ).to_csv(folder / f"referrals-{month:02d}.csv", index=False)


def split_codes(frame):
    """R017-2 -> chapter 17, revision 2"""
    parts = [code.split("-") for code in frame["code"]]
    frame = frame.assign(
        chapter=[int(chapter[1:]) for chapter, _ in parts],
        revision=[int(revision) for _, revision in parts],
    )
    return frame.drop(columns="code")


def per_ward(referrals):
    newest = referrals[referrals["revision"] == 3]
    return newest.groupby("ward")["chapter"].nunique()


@contextlib.contextmanager
def office_cluster():
    client = Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
    )
    try:
        yield client
    finally:
        client.close()


def main():
    folder = Path(tempfile.mkdtemp(prefix="referrals-"))
    export(folder)
    with office_cluster() as client:
        referrals = dd.read_csv(str(folder / "referrals-*.csv"))
        logging.info(
            "%d files, urgent: %d",
            referrals.npartitions,
            int(referrals["urgent"].sum().compute()),
        )
        table = per_ward(referrals.map_partitions(split_codes))
        print(client.compute(table).result())


if __name__ == "__main__":
    main()

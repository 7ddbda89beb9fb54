"""Crowds along the carnival parade: bring counts of the districts together by float."""

import logging
import sys

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
)
log = logging.getLogger("parade")

DISTRICTS = [
    "altstadt",
    "bilk",
    "derendorf",
    "eller",
    "flehe",
    "gerresheim",
    "hassels",
    "itter",
]
FLOATS = [f"F{n:03d}" for n in range(1, 61)]

COUNTS = pd.DataFrame(
    {
        "district": pd.Series(dtype="string[pyarrow]"),
        "float": pd.Series(dtype="string[pyarrow]"),
        "minute": pd.Series(dtype="int64"),
        "crowd": pd.Series(dtype="int64"),
    }
)


def read_district(district, rows=4000):
    """Counts of the stewards; most districts send numbers, some send what was typed."""
    rng = np.random.default_rng(len(district) * 31 + ord(district[0]))
    frame = pd.DataFrame(
        {
            "district": pd.array([district] * rows, dtype="string[pyarrow]"),
            "float": pd.array(rng.choice(FLOATS, rows), dtype="string[pyarrow]"),
            "minute": rng.integers(0, 240, rows),
            "crowd": rng.poisson(140, rows),
        }
    )
    if district == "gerresheim":
        typed = frame["crowd"].astype(str)
        typed[rng.random(rows) < 0.01] = "ca. 150"
        frame["crowd"] = typed.astype(object)
    return frame


def float_metadata():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "float": pd.array(FLOATS, dtype="string[pyarrow]"),
            "length": rng.integers(6, 19, len(FLOATS)),
            "noise": rng.normal(88, 6, len(FLOATS)).round(1),
        }
    )


def crowd_profile(frame):
    """Peak and mean crowd of the floats of a partition."""
    grouped = frame.groupby("float")["crowd"]
    return pd.DataFrame({"peak": grouped.max(), "mean": grouped.mean()})


def main():
    dask.config.set({"dataframe.shuffle.method": "p2p"})
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        counts = dd.from_map(read_district, DISTRICTS, meta=COUNTS)
        rows = counts["district"].value_counts().compute()
        log.info("%d counts of %d districts", rows.sum(), len(rows))

        by_float = counts.shuffle(on="float", npartitions=4)
        profile = by_float.map_partitions(
            crowd_profile, meta={"peak": "int64", "mean": "float64"}
        )
        table = profile.compute()
        table = table.join(float_metadata().set_index("float"))
        log.info("loudest floats:\n%s", table.nlargest(5, "noise").to_string())
        log.info("workers at the end: %d", len(client.scheduler_info()["workers"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Engine hours of the contractor's threshers, by depot and week.

Depots keep their hours in different shapes: two send JSON lines, two send
CSV, one a fixed-width listing.  Each has a loader; the frames are joined to
one dask dataframe and summed by machine.
"""

import io
import logging
import os
import random
import tempfile

import dask
import dask.dataframe as dd
import pandas as pd
from dask import delayed
from dask.distributed import Client, LocalCluster

log = logging.getLogger("hours")

META = pd.DataFrame(
    {
        "machine": pd.Series(dtype="str"),
        "week": pd.Series(dtype="int64"),
        "engine_hours": pd.Series(dtype="float64"),
        "idle_hours": pd.Series(dtype="float64"),
    }
)


def records(seed, count=800):
    rng = random.Random(seed)
    for _ in range(count):
        yield (
            f"T{rng.randint(1, 30):02d}",
            rng.randint(30, 40),
            round(rng.uniform(1, 12), 1),
            round(rng.random(), 2),
        )


def write_depot(folder, depot):
    rows = pd.DataFrame(
        list(records(depot)), columns=["machine", "week", "engine_hours", "idle_hours"]
    )
    if depot in ("ash", "birch"):
        path = os.path.join(folder, depot + ".jsonl")
        rows.to_json(path, orient="records", lines=True)
    elif depot == "elm":
        path = os.path.join(folder, depot + ".txt")
        with open(path, "w") as out:
            for machine, week, engine, idle in rows.itertuples(index=False):
                out.write(f"{machine:<5}{week:>4}{engine:>8}{idle:>8}\n")
    else:
        if depot == "damson":
            # new telematics box since Monday
            rows = rows.rename(columns={"engine_hours": "engine_h"})
        path = os.path.join(folder, depot + ".csv")
        rows.to_csv(path, index=False)
    return path


def load_depot(path):
    if path.endswith(".jsonl"):
        return pd.read_json(path, lines=True).astype(
            {"engine_hours": "float64", "idle_hours": "float64"}
        )
    if path.endswith(".txt"):
        with open(path) as source:
            text = source.read()
        return pd.read_fwf(
            io.StringIO(text), widths=[5, 4, 8, 8], names=list(META.columns)
        )
    return pd.read_csv(path)


def check_connection(client):
    """Workers must see the folder; a probe for a file that is not there is fine."""
    try:
        client.submit(os.stat, "probe.lock").result()
    except FileNotFoundError:
        log.info("no other run is active")


def main():
    logging.basicConfig(level="INFO")
    depots = ["ash", "birch", "cherry", "damson", "elm"]
    with tempfile.TemporaryDirectory(prefix="depots-") as folder:
        paths = [write_depot(folder, depot) for depot in depots]
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            check_connection(client)
            parts = [delayed(load_depot)(path) for path in paths]
            hours = dd.from_delayed(parts, meta=META, verify_meta=True)
            hours = hours.assign(total=lambda d: d["engine_hours"] + d["idle_hours"])
            by_machine = hours.groupby("machine")[["engine_hours", "total"]].sum()
            worst = hours[hours["idle_hours"] > 0.9].groupby("week")["machine"].count()
            by_machine, worst = dask.compute(by_machine, worst)
            by_machine.to_csv("hours.csv")
            log.info("%d machines, %d idle entries", len(by_machine), worst.sum())


if __name__ == "__main__":
    main()

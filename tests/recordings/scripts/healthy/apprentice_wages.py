"""Wages of the apprentices: three steps, each on a cluster that suits it.

1. hours   many small files: threads in this process
2. wages   arithmetic per county: two single-threaded processes
3. levies  one dataframe: one process with two threads
"""

import json
import random
import time
from pathlib import Path

import dask
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster

COUNTIES = ["Antrim", "Cork", "Galway", "Kerry", "Mayo", "Sligo"]
TRADES = {"baker": 11.2, "joiner": 12.6, "plumber": 13.1, "roofer": 13.4}
STEPS = {
    "hours": dict(processes=False, n_workers=1, threads_per_worker=2),
    "wages": dict(processes=True, n_workers=2, threads_per_worker=1),
    "levies": dict(processes=True, n_workers=1, threads_per_worker=2),
}


class Step:
    """A cluster and a client for one step of the run."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.started = time.time()
        self.cluster = LocalCluster(
            memory_limit="600MB", dashboard_address=":0", **STEPS[self.name]
        )
        self.client = Client(self.cluster)
        return self.client

    def __exit__(self, *problem):
        self.client.close()
        self.cluster.close()
        print(f"{self.name}: {time.time() - self.started:.1f} s")
        return False


def write_clocks(folder):
    folder.mkdir(exist_ok=True)
    for county in COUNTIES:
        rng = random.Random(county)
        rows = [
            {
                "county": county,
                "person": number,
                "trade": rng.choice(list(TRADES)),
                "hours": round(rng.uniform(20, 40), 2),
            }
            for number in range(500)
        ]
        (folder / f"{county}.jsonl").write_text(
            "\n".join(json.dumps(row) for row in rows)
        )


def read_hours(folder):
    rows = db.read_text(str(folder / "*.jsonl")).map(json.loads)
    return rows.filter(lambda row: row["hours"] > 0).compute()


@dask.delayed
def county_wages(county, rows):
    until = time.perf_counter() + 0.6
    wages = [
        dict(row, wage=round(row["hours"] * TRADES[row["trade"]], 2)) for row in rows
    ]
    checks = 0
    while time.perf_counter() < until:
        checks += sum(1 for row in wages if row["wage"] > 0) == len(wages)
    return county, wages


def wages_of(rows):
    parts = [
        county_wages(county, [row for row in rows if row["county"] == county])
        for county in COUNTIES
    ]
    return dict(dask.compute(*parts))


def levies_of(wages):
    frame = pd.DataFrame([row for rows in wages.values() for row in rows])
    ddf = dd.from_pandas(frame, npartitions=4)
    ddf["levy"] = ddf["wage"] * 0.011
    return ddf.groupby("trade")["levy"].sum().compute().round(2)


def main():
    folder = Path("clocks")
    write_clocks(folder)
    with Step("hours"):
        rows = read_hours(folder)
    with Step("wages"):
        wages = wages_of(rows)
    with Step("levies"):
        levies = levies_of(wages)
    print(levies.to_string())
    levies.to_csv("levies.csv")
    assert len(rows) == 3000 and set(wages) == set(COUNTIES)


if __name__ == "__main__":
    main()

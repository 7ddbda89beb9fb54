"""Estate valuations: values the fields, woods and buildings of an estate for the heirs.

Each kind of property has its own cluster, sized for it, one after another; results of one go into the next.
"""

import contextlib
import logging
import sys
import time

import dask.array as da
import numpy as np
import pandas as pd
from dask import dataframe as dd
from dask import delayed
from distributed import Client, LocalCluster, get_client

log = logging.getLogger("estate")


@contextlib.contextmanager
def office(purpose, **size):
    started = time.monotonic()
    with LocalCluster(dashboard_address=None, memory_limit="400MB", **size) as cluster:
        with Client(cluster, name=purpose, set_as_default=True) as client:
            log.info("%s: %d workers", purpose, size["n_workers"])
            yield client
    log.info("%s: closed after %.1f s", purpose, time.monotonic() - started)


def value_fields():
    with office("fields", n_workers=2, threads_per_worker=1) as client:
        rng = np.random.default_rng(5)
        fields = pd.DataFrame(
            {
                "parish": rng.choice(["Elm", "Oak", "Ash"], 30_000),
                "acres": rng.gamma(2.0, 3.0, 30_000),
                "grade": rng.integers(1, 6, 30_000),
            }
        )
        table = dd.from_pandas(fields, npartitions=6)
        table = table.assign(value=table.acres * (12_000 - 1_500 * table.grade))
        return table.groupby("parish").value.sum().compute().to_dict()


def value_woods():
    with office("woods", n_workers=1, threads_per_worker=2, processes=False):
        heights = da.random.default_rng(8).normal(
            18, 4, size=(2000, 1500), chunks=(500, 750)
        )
        timber = da.where(heights > 15, heights * 3.2, 0.0)
        per_strip = timber.sum(axis=1).rechunk(250)
        return float(per_strip.sum().compute())


@delayed
def inspect(building, rooms):
    time.sleep(0.3)
    return building, rooms * 21_000


@delayed
def discount(item, share):
    building, value = item
    return building, value * (1 - share)


def largest(values):
    client = get_client()
    ranked = client.submit(sorted, values, key="ranked").result()
    return ranked[-1]


def value_buildings(surroundings):
    share = 0.05 if surroundings > 1e6 else 0.0
    with office("buildings", n_workers=2, threads_per_worker=2) as client:
        houses = {"hall": 44, "mill": 9, "lodge": 6, "forge": 3, "dairy": 5}
        items = client.compute(
            [discount(inspect(name, rooms), share) for name, rooms in houses.items()]
        )
        values = dict(client.gather(items))
        log.info(
            "largest building: %.0f",
            client.submit(largest, list(values.values())).result(),
        )
        return values


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    fields = value_fields()
    woods = value_woods()
    buildings = value_buildings(woods + sum(fields.values()))
    total = sum(fields.values()) + woods + sum(buildings.values())
    print(
        f"fields {sum(fields.values()):,.0f}  woods {woods:,.0f}  buildings {sum(buildings.values()):,.0f}"
    )
    print(f"estate {total:,.0f}")
    return 0 if total > 0 else 1


if __name__ == "__main__":
    sys.exit(main())

"""Moult scores of plovers, from the ringing sites of an estuary.

A site sends its captures (bird, day, score of the primaries).  For every site two things are made: the mean weight,
and a table of all days between the captures of a bird, so that moult speed can be read per day.
"""

import logging
import os
import sys
import time

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dask import delayed  # noqa: E402
from dask.distributed import Client, LocalCluster, wait  # noqa: E402

log = logging.getLogger("moult")
SITES = ["creek", "gravel", "island", "lagoon", "mouth", "sandbar", "spit", "weir"]


def captures_of(site):
    """Captures of a site; the new terminals of the lagoon send seconds where the others send days."""
    rng = np.random.default_rng(sum(map(ord, site)))
    birds = np.repeat(np.arange(60), 4)
    days = np.sort(rng.integers(0, 90, size=(60, 4)), axis=1).ravel()
    if site == "lagoon":
        days = days * 86_400
    return pd.DataFrame(
        {
            "bird": birds,
            "day": days,
            "score": rng.integers(0, 50, len(birds)),
            "weight": rng.normal(180, 9, len(birds)),
        }
    )


def weigh_birds(captures):
    """Mean weight with its bootstrap error; slow, but small."""
    means = []
    for draw in range(100):
        means.append(
            captures["weight"].sample(frac=1, replace=True, random_state=draw).mean()
        )
        time.sleep(0.06)
    return float(np.mean(means)), float(np.std(means))


def expand_days(captures):
    """One row per bird and day between its first and last capture."""
    pieces = []
    for bird, rows in captures.groupby("bird"):
        days = np.arange(rows["day"].min(), rows["day"].max() + 1)
        scores = np.interp(days, rows["day"], rows["score"])
        pieces.append(
            pd.DataFrame(
                {"day": days, "score": scores, "bird": np.full(len(days), bird)}
            )
        )
    return pd.concat(pieces)


def moult_speed(captures):
    daily = expand_days(captures)
    return float(
        daily.groupby("bird")["score"].apply(lambda score: score.diff().mean()).mean()
    )


def build(sites):
    results = {}
    for site in sites:
        captures = delayed(captures_of)(site, dask_key_name=f"captures-{site}")
        results[f"weight {site}"] = delayed(weigh_birds)(
            captures, dask_key_name=f"weigh-birds-{site}"
        )
        results[f"speed {site}"] = delayed(moult_speed)(
            captures, dask_key_name=f"moult-speed-{site}"
        )
    return results


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    table = build(SITES)
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="420MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            futures = dict(zip(table, client.compute(list(table.values()))))
            wait(list(futures.values()))
            lost = [
                name for name, future in futures.items() if future.status == "error"
            ]
            for name, future in futures.items():
                if future.status == "finished":
                    log.info("%-16s %s", name, future.result())
            if lost:
                log.error("not computed: %s", ", ".join(lost))
                futures[lost[0]].result()
    print("moult table is complete")


if __name__ == "__main__":
    sys.exit(main())

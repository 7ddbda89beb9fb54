"""Lemon groves: yield forecast with a frost drill in which a worker goes down on purpose, and a cautious fallback."""

import logging
import os
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, fire_and_forget, get_worker

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("lemons")


def frost_drill(flag):
    """The first worker that gets the drill goes dark; the second try must succeed."""
    if not os.path.exists(flag):
        with open(flag, "w") as out:
            out.write(get_worker().address)
        time.sleep(0.2)
        os._exit(1)
    return "drill survived"


def trees(grove):
    rng = np.random.default_rng(grove)
    return pd.DataFrame(
        {
            "grove": grove,
            "age": rng.integers(3, 40, 300),
            "kg": rng.gamma(6, 14, 300),
            "frost": rng.random(300) < 0.05,
        }
    )


def forecast(part, strict):
    if strict and part["frost"].mean() > 0.06:
        raise ArithmeticError(
            f"too much frost for the strict model ({part['frost'].mean():.1%})"
        )
    return part.assign(expected=part["kg"] * np.where(part["frost"], 0.4, 1.03))


def note(folder, text):
    with open(os.path.join(folder, "notes.txt"), "a") as out:
        out.write(text + "\n")


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 3})
    folder = os.getcwd()
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="900MB", dashboard_address=":0"
    )
    client = Client(cluster)
    log.info(
        client.submit(
            frost_drill, os.path.join(folder, "frost.flag"), pure=False
        ).result(timeout=60)
    )
    client.wait_for_workers(1, timeout=30)

    frame = dd.from_map(trees, range(8), meta=trees(0).iloc[:0])
    meta = frame._meta.assign(expected=1.0)
    try:
        result = (
            frame.map_partitions(forecast, strict=True, meta=meta)["expected"]
            .sum()
            .compute()
        )
    except ArithmeticError as error:
        log.warning("strict model not usable (%s), taking the tolerant one", error)
        fire_and_forget(client.submit(note, folder, "tolerant model used"))
        result = (
            frame.map_partitions(forecast, strict=False, meta=meta)["expected"]
            .sum()
            .compute()
        )
    log.info("expected harvest: %.0f kg", result)
    cluster.close()  # before the client, the older colleagues are used to it
    client.close()


if __name__ == "__main__":
    main()

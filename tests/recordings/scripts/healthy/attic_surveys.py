"""Insulation survey of attics from infrared flights over a town, in three stages with a cluster each.

Stage one reads and cleans in threads, stage two does the heavy per-roof work in processes, stage three makes the
street table. Each stage has other needs, so each gets its own cluster and gives it back.
"""

import configparser
import io
import logging
import time
from contextlib import contextmanager

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

log = logging.getLogger("attics")

SETTINGS = """
[clean]
workers = 1
threads = 2
processes = no

[roofs]
workers = 2
threads = 1
processes = yes

[streets]
workers = 1
threads = 1
processes = yes
"""


def settings() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read_file(io.StringIO(SETTINGS))
    return config


@contextmanager
def stage(name: str):
    part = settings()[name]
    started = time.monotonic()
    cluster = LocalCluster(
        n_workers=part.getint("workers"),
        threads_per_worker=part.getint("threads"),
        processes=part.getboolean("processes"),
        memory_limit="600MB",
        dashboard_address=None,
    )
    client = Client(cluster)
    log.info("stage %s on %s", name, cluster.scheduler_address)
    try:
        yield client
    finally:
        client.close()
        cluster.close()
        log.info("stage %s took %.1f s", name, time.monotonic() - started)


def clean() -> np.ndarray:
    with stage("clean"):
        flights = da.random.default_rng(3).normal(
            4.0, 2.5, size=(6, 1200, 1200), chunks=(1, 1200, 1200)
        )
        picture = da.clip(flights, -10, 25).mean(axis=0)
        return picture.compute()


def roof_loss(tile: np.ndarray, number: int) -> dict:
    spectrum = np.abs(np.fft.fft2(tile - tile.mean()))
    smooth = tile.copy()
    for _ in range(12):
        smooth = (smooth + np.roll(smooth, 1, 0) + np.roll(smooth, 1, 1)) / 3
    return {
        "roof": number,
        "street": f"street {number % 11:02d}",
        "watts": float(np.clip(smooth, 0, None).sum() / 50),
        "texture": float(np.log1p(spectrum).mean()),
    }


def roofs(picture: np.ndarray) -> pd.DataFrame:
    tiles = [
        picture[row : row + 240, column : column + 240]
        for row in range(0, 1200, 240)
        for column in range(0, 1200, 240)
    ]
    with stage("roofs") as client:
        futures = client.map(roof_loss, client.scatter(tiles), range(len(tiles)))
        return pd.DataFrame(client.gather(futures))


def streets(table: pd.DataFrame) -> pd.DataFrame:
    with stage("streets"):
        frame = dd.from_pandas(table, npartitions=3)
        return (
            frame.groupby("street").agg({"watts": "sum", "texture": "mean"}).compute()
        )


def main() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    picture = clean()
    table = roofs(picture)
    result = streets(table)
    print(result.sort_values("watts", ascending=False).head(5).round(1).to_string())


if __name__ == "__main__":
    main()

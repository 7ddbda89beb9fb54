"""Sightings of otters by square; uses the institute's cluster when it is up, else this machine."""

import logging
import random
import socket
import sys
import tempfile
import warnings
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("otter_sightings")


def institute_address():
    """The port that the institute's scheduler had last night."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


def write_sightings(folder):
    rng = random.Random(33)
    for year in range(2021, 2027):
        frame = pd.DataFrame(
            {
                "x": [rng.randint(0, 9) for _ in range(400)],
                "y": [rng.randint(0, 9) for _ in range(400)],
                "cubs": [
                    str(rng.randint(0, 4)) if rng.random() > 0.03 else "?"
                    for _ in range(400)
                ],
            }
        )
        frame.to_csv(folder / f"sightings-{year}.csv", index=False)


def connect():
    address = institute_address()
    try:
        return Client(address, timeout=4), None
    except OSError:
        log.error(
            "institute's cluster at %s does not answer, working on this machine",
            address,
            exc_info=True,
        )
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    )
    return Client(cluster), cluster


def clean(frame):
    cubs = pd.to_numeric(frame["cubs"], errors="coerce")
    lost = int(cubs.isna().sum())
    if lost:
        warnings.warn(f"{lost} unreadable numbers of cubs", stacklevel=1)
    return frame.assign(cubs=cubs.fillna(0.0))


def main():
    with tempfile.TemporaryDirectory(prefix="otters-") as tmp:
        folder = Path(tmp)
        write_sightings(folder)
        client, cluster = connect()
        try:
            frame = dd.read_csv(f"{folder}/sightings-*.csv", dtype={"cubs": "object"})
            squares = (
                frame.map_partitions(clean).groupby(["x", "y"])["cubs"].sum().compute()
            )
            log.info("%d squares, most cubs %d", len(squares), squares.max())
            try:
                frame["age"].sum().compute()
            except KeyError as missing:
                log.warning("no ages this year: %s", missing)
        finally:
            client.close()
            if cluster is not None:
                cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

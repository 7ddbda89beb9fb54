"""Raisin grading: a flaky camera service (retried) and a native library that wants fresh workers between seasons."""

import argparse
import logging
import pathlib
import tempfile

import numpy as np
import pandas as pd
import pytest  # noqa: F401  the grading rules are shared with the test-suite
from dask import delayed
from dask.distributed import Client, LocalCluster, Lock

log = logging.getLogger("raisins")


class CameraBusy(ConnectionError):
    pass


def picture(tray, folder):
    """The camera refuses the first request for every fifth tray."""
    seen = pathlib.Path(folder) / f"tray-{tray}.seen"
    if tray % 5 == 0 and not seen.exists():
        seen.touch()
        raise CameraBusy(f"camera busy while tray {tray} was asked for")
    return np.random.default_rng(tray).integers(0, 255, (120, 120), dtype="uint8")


def grade(image):
    dark = float((image < 90).mean())
    return {"dark": dark, "grade": "choice" if dark < 0.353 else "standard"}


def book(row, folder):
    with Lock("book"):
        with open(pathlib.Path(folder) / "book.txt", "a") as out:
            out.write(f"{row['grade']} {row['dark']:.4f}\n")
    return row


def season(client, trays, folder):
    rows = [
        delayed(book)(delayed(grade)(delayed(picture)(tray, folder)), folder)
        for tray in trays
    ]
    futures = client.compute(rows, retries=3)
    return pd.DataFrame(client.gather(futures))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seasons", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory(
        prefix="raisins-", ignore_cleanup_errors=True
    ) as folder:
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=2,
                memory_limit="800MB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            for number in range(args.seasons):
                if number:
                    workers = list(client.scheduler_info()["workers"])
                    log.info(
                        "fresh workers: %s", client.restart_workers(workers, timeout=40)
                    )
                table = season(client, range(number * 20, number * 20 + 20), folder)
                log.info(
                    "season %d: %s", number, table["grade"].value_counts().to_dict()
                )
        booked = (pathlib.Path(folder) / "book.txt").read_text().count("\n")
        assert booked == args.seasons * 20, booked
        log.info("%d trays in the book", booked)


if __name__ == "__main__":
    main()

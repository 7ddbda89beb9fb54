"""Returned goods: cleans the night's return slips and loads them to the warehouse.

Steps: extract, clean, check, publish.  A step that fails ends the pipeline;
staging is emptied in any case.
"""

import datetime as dt
import json
import logging
import shutil
from pathlib import Path

import click
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("returns")


class Pipeline:
    def __init__(self, date, staging):
        self.date = date
        self.staging = Path(staging)
        self.manifest = {}

    def extract(self):
        rng = np.random.default_rng(self.date.toordinal())
        raw = self.staging / "raw"
        raw.mkdir(parents=True)
        slips = 0
        for hour in range(8):
            rows = 1200 + int(rng.integers(0, 300))
            frame = pd.DataFrame(
                {
                    "slip": np.arange(slips, slips + rows),
                    "reason": rng.choice(
                        ["broken", "wrong size", "late", ""],
                        rows,
                        p=[0.3, 0.3, 0.2, 0.2],
                    ),
                    "value": rng.uniform(1, 90, rows).round(2),
                }
            )
            # scanners of hall 2 repeat slips when their radio link is slow
            if hour in (3, 4):
                frame = pd.concat([frame, frame.iloc[: rows // 5]])
            frame.to_parquet(raw / f"h{hour:02d}.parquet")
            slips += rows
        self.manifest = {"date": self.date.isoformat(), "slips": slips}
        (self.staging / "manifest.json").write_text(json.dumps(self.manifest))
        log.info("extracted %s", self.manifest)

    def clean(self):
        def fill_reason(part):
            part = part.copy()
            part["reason"] = part["reason"].replace("", "not given")
            return part

        frame = dd.read_parquet(str(self.staging / "raw"))
        frame = frame.map_partitions(fill_reason)
        frame.to_parquet(str(self.staging / "clean"), write_index=False)
        log.info("cleaned")

    def check(self):
        frame = dd.read_parquet(str(self.staging / "clean"))
        rows, values = len(frame), frame["value"].describe().compute()
        assert values["min"] > 0, "slips without a value"
        assert rows == self.manifest["slips"], (
            f"row count check: manifest has {self.manifest['slips']} slips, clean table has {rows} rows"
        )

    def publish(self):
        frame = dd.read_parquet(str(self.staging / "clean"))
        frame.groupby("reason")["value"].sum().compute().to_csv("returns.csv")

    def tidy(self):
        shutil.rmtree(self.staging, ignore_errors=True)
        log.info("staging is empty")


@click.command()
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), default="2026-11-27")
@click.option("--staging", default="staging")
@click.option("--workers", default=2)
def cli(date, staging, workers):
    logging.basicConfig(level=logging.INFO)
    pipeline = Pipeline(dt.date(date.year, date.month, date.day), staging)
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with Client(cluster):
            try:
                for step in (
                    pipeline.extract,
                    pipeline.clean,
                    pipeline.check,
                    pipeline.publish,
                ):
                    log.info("step %s", step.__name__)
                    step()
            finally:
                pipeline.tidy()


if __name__ == "__main__":
    cli()

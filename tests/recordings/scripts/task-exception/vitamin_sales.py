"""Sell-through per pharmacy: nightly Parquet exports of the tills become one table of packs per store and product."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client

CONFIG = {
    "stores": [
        "altona",
        "bergen",
        "celle",
        "dessau",
        "emden",
        "fulda",
        "gera",
        "hanau",
    ],
    "optional": ["loyalty.json"],
    "schema": {
        "store": "object",
        "product": "int64",
        "packs": "int64",
        "revenue": "float64",
    },
}


class Export:
    """Writes what the tills hand over; the till software differs per store."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.rng = np.random.default_rng(88)

    def write(self, store: str) -> Path:
        size = 3000
        packs = self.rng.integers(1, 9, size).astype("float64")
        frame = pd.DataFrame(
            {
                "store": store,
                "product": self.rng.integers(500, 560, size),
                "packs": packs,
                "revenue": (packs * 7.95).round(2),
            }
        )
        if store == "gera":
            frame.loc[self.rng.integers(0, size, 12), "packs"] = None
        target = self.folder / f"{store}.parquet"
        frame.to_parquet(target, index=False)
        return target


@dataclass
class TillReader:
    columns: list[str]
    schema: dict[str, str]

    def __call__(self, path: str) -> pd.DataFrame:
        frame = pd.read_parquet(path, columns=self.columns)
        frame = frame[frame["revenue"] != 0]
        return self.conform(frame)

    def conform(self, frame: pd.DataFrame) -> pd.DataFrame:
        for column, dtype in self.schema.items():
            frame[column] = frame[column].astype(dtype)
        return frame


def load_loyalty(folder: Path) -> dict:
    try:
        return json.loads((folder / CONFIG["optional"][0]).read_text())
    except OSError as problem:
        print("loyalty programme not delivered, going on without:", problem)
        return {}


def meta() -> pd.DataFrame:
    return pd.DataFrame(
        {name: pd.Series(dtype=kind) for name, kind in CONFIG["schema"].items()}
    )


def sell_through(paths: list[Path]) -> pd.DataFrame:
    reader = TillReader(list(CONFIG["schema"]), CONFIG["schema"])
    table = dd.from_map(
        reader, [os.fspath(p) for p in paths], meta=meta(), label="tills"
    )
    per_product = table.groupby(["store", "product"])[["packs", "revenue"]].sum(
        split_out=2
    )
    ranked = per_product.reset_index().map_partitions(
        lambda part: part.sort_values("packs", ascending=False).head(50)
    )
    return ranked.compute()


def run() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tills_"))
    try:
        export = Export(folder)
        paths = [export.write(store) for store in CONFIG["stores"]]
        loyalty = load_loyalty(folder)
        with dask.config.set({"dataframe.convert-string": False}):
            with Client(
                n_workers=2, threads_per_worker=2, dashboard_address=None
            ) as client:
                print(
                    "workers:",
                    len(client.scheduler_info()["workers"]),
                    "loyalty cards:",
                    len(loyalty),
                )
                top = sell_through(paths)
        top.to_csv("sell_through.csv", index=False)
        print(top.head())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        print("exports removed")


if __name__ == "__main__":
    run()

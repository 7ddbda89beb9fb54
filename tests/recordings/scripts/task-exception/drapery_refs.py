"""Stock of a drapery wholesaler, from the exports of its stores to the lake.

Each store's system exports a JSON document; the rows are brought into one shape and written as Parquet for the
analysts.  Steps are listed at the end and run one after another.
"""

import json
import logging
import shutil
import tempfile
from pathlib import Path

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
from distributed import Client, LocalCluster

log = logging.getLogger("drapery")

# the analysts' readers are old and know no "string" columns
dask.config.set({"dataframe.convert-string": False})

STORES = ["antwerp", "bergen", "cork", "dundee", "espoo"]
META = pd.DataFrame(
    {
        "store": pd.Series(dtype="object"),
        "supplier_ref": pd.Series(dtype="object"),
        "metres": pd.Series(dtype="float64"),
        "price": pd.Series(dtype="float64"),
    }
)

SCHEMA = pa.schema(
    [
        ("store", pa.string()),
        ("supplier_ref", pa.string()),
        ("metres", pa.float64()),
        ("price", pa.float64()),
        ("value", pa.float64()),
    ]
)


def export_stores(folder):
    for s, store in enumerate(STORES):
        rows = []
        for i in range(400):
            ref = f"DR-{s}{i:04d}"
            if store == "dundee" and i % 25 == 24:
                ref = 700000 + i  # goods of the supplier that was taken over
            rows.append(
                {
                    "ref": ref,
                    "metres": round(3 + (i * 7 % 90) / 4, 2),
                    "price": 4 + i % 31,
                }
            )
        (folder / f"{store}.json").write_text(
            json.dumps({"store": store, "rows": rows})
        )


def read_store(path):
    doc = json.loads(Path(path).read_text())
    frame = pd.DataFrame(doc["rows"]).rename(columns={"ref": "supplier_ref"})
    frame.insert(0, "store", doc["store"])
    for column in ("store", "supplier_ref"):
        frame[column] = frame[column].astype("object")
    frame["price"] = frame["price"].astype("float64")
    return frame[list(META.columns)]


def add_value(frame):
    return frame.assign(value=frame["metres"] * frame["price"])


class Pipeline:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.stock = None

    def load(self):
        export_stores(self.folder)
        paths = sorted(str(p) for p in self.folder.glob("*.json"))
        self.stock = dd.from_map(read_store, paths, meta=META).map_partitions(add_value)

    def check(self):
        rows = len(self.stock)
        empty = int(self.stock["metres"].isna().sum().compute())
        log.info("%d rows, %d without a length", rows, empty)

    def publish(self):
        target = self.folder / "lake" / "stock"
        self.stock.to_parquet(
            str(target), write_index=False, compression="snappy", schema=SCHEMA
        )
        log.info("published %d files", len(list(target.glob("*.parquet"))))

    def summarise(self):
        lake = dd.read_parquet(str(self.folder / "lake" / "stock"))
        log.info("\n%s", lake.groupby("store")["value"].sum().compute())

    steps = ("load", "check", "publish", "summarise")


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    folder = tempfile.mkdtemp(prefix="drapery-")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="450MB", dashboard_address=None
    ) as cluster:
        with Client(cluster):
            pipeline = Pipeline(folder)
            try:
                for step in pipeline.steps:
                    log.info("step %s", step)
                    getattr(pipeline, step)()
            finally:
                shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

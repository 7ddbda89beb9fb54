"""What pandas, Dask, Arrow, Parquet and S3 raise most often, all in one recording.

Each message is another one, so that the test can tell them apart.

python named_failures.py STORE FOLDER ENDPOINT
"""

from __future__ import annotations

import importlib
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import dask
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
from botocore.config import Config
from dask import delayed
from dask_blackbox import recording
from dask_blackbox.driver.own_code import described
from distributed import Client, LocalCluster
from scenario_reports import report_card

# Its stubs are incomplete.
pa: Any = importlib.import_module("pyarrow")
pq: Any = importlib.import_module("pyarrow.parquet")
ONCE = Config(retries={"max_attempts": 0})
ORDERS = {"order": [1, 2], "qty": [3, 4], "city": ["Bonn", "Köln"]}


def clean(frame: pd.DataFrame) -> Any:
    return frame.assign(total=frame["quantity"] * 2)


def priced(frame: pd.DataFrame) -> Any:
    return frame["price"].sum()


def load(path: str) -> Any:
    return pd.read_csv(path)


def renamed(frame: pd.DataFrame) -> Any:
    return frame.rename(columns={"qty": "quantity"})


def selected(path: str) -> Any:
    return pd.read_csv(path, usecols=["order", "quantity"])


def several(frame: pd.DataFrame) -> Any:
    return frame[["order", "quantity"]]


def joined(frame: pd.DataFrame) -> Any:
    return frame.merge(pd.DataFrame({"order": ["1"]}), on="order")


def typed(path: str) -> Any:
    schema = pa.schema([("order", pa.int64()), ("qty", pa.int64())])
    return pa.Table.from_pandas(pd.read_csv(path)).cast(schema)


def damaged(path: str) -> Any:
    return pq.read_table(path)


def fetch(url: str, endpoint: str) -> bytes:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    found = boto3.client("s3", endpoint_url=endpoint, config=ONCE).get_object(
        Bucket=bucket, Key=key
    )
    data: bytes = found["Body"].read()
    return data


def query(path: str) -> list[Any]:
    return sqlite3.connect(path).execute("select * from orders").fetchall()


def save(frame: pd.DataFrame, path: str) -> None:
    frame.to_csv(path)


def failures(folder: Path, endpoint: str) -> dict[str, Callable[[], Any]]:
    """Return by name what raises when it is called."""
    csv, mixed, bad = (str(folder / part) for part in ("csv", "mixed", "bad.parquet"))
    first, missing = f"{csv}/part-0.csv", str(folder / "no" / "such" / "part-1.csv")
    meta = pd.DataFrame(ORDERS).iloc[:0]
    parts = [f"{csv}/part-{i}.csv" for i in range(2)]
    frames = [delayed(load)(part) for part in parts]

    def compute(value: Any) -> Any:
        return dask.compute(value)

    return {
        "dtypes": lambda: dd.read_csv(f"{mixed}/*.csv").compute(),
        "from_delayed": lambda: compute(
            dd.from_delayed(frames, meta=pd.DataFrame({"order": [1], "city": ["x"]}))
        ),
        "columns": lambda: compute(
            dd.from_map(load, parts, meta=meta).map_partitions(renamed, meta=meta)
        ),
        "dtype of meta": lambda: compute(
            dd.from_delayed(frames, meta=meta.astype({"qty": "str"}))
        ),
        "key error": lambda: compute(
            dd.from_map(load, parts, meta=meta).map_partitions(clean, meta=meta)
        ),
        "usecols": lambda: compute(delayed(selected)(first)),
        "not in index": lambda: compute(delayed(several)(delayed(load)(first))),
        "missing column": lambda: compute(dd.read_csv(f"{csv}/*.csv").weight),
        "merge": lambda: compute(delayed(joined)(delayed(load)(first))),
        "arrow names": lambda: compute(delayed(typed)(first)),
        "not parquet": lambda: compute(delayed(damaged)(bad)),
        "divisions": lambda: compute(
            dd.read_csv(f"{csv}/*.csv").repartition(divisions=[0, 1])
        ),
        "file": lambda: compute(delayed(load)(missing)),
        "text": lambda: db.from_sequence([first]).map(load).map(priced).compute(),
        "no such key": lambda: compute(
            delayed(fetch)("s3://shop/part-17.csv", endpoint)
        ),
        "no such bucket": lambda: compute(
            delayed(fetch)("s3://nowhere/part-17.csv", endpoint)
        ),
        "refused": lambda: compute(
            delayed(fetch)("s3://shop/part-17.csv", "http://127.0.0.1:9")
        ),
        "no table": lambda: compute(delayed(query)(str(folder / "orders.sqlite"))),
        "save": lambda: compute(delayed(save)(delayed(load)(first), missing)),
        "presigned": lambda: compute(
            delayed(load)(
                "http://user:pa55word@127.0.0.1:9/a/b.csv?X-Amz-Signature=5ecre7"
            )
        ),
    }


def stage(folder: Path, endpoint: str) -> None:
    """Write what is read."""
    for name in ("csv", "mixed"):
        (folder / name).mkdir()
        for i in range(2):
            frame = pd.DataFrame(ORDERS)
            if name == "mixed" and i:
                frame["qty"] = ["3.5", "none at all"]
            frame.to_csv(folder / name / f"part-{i}.csv", index=False)
    (folder / "bad.parquet").write_text("order,qty\n1,2\n")
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="shop")


def main(store: str, place: str, endpoint: str) -> None:
    folder = Path(place)
    stage(folder, endpoint)
    raised = {}
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=store, job="named failures", run_id="1") as rec,
    ):
        for name, fail in failures(folder, endpoint).items():
            try:
                fail()
            except Exception as error:  # noqa: BLE001
                reported = described(error)
            else:
                raise AssertionError(f"{name} did not fail")
            raised[name] = {"ended": time.time(), "exception": reported}
    report_card(rec, raised=raised)


if __name__ == "__main__":
    main(*sys.argv[1:])

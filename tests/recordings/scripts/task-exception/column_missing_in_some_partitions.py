"""Discounts per customer group."""

import json
import tempfile
from pathlib import Path

import dask
import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client

INPUT = Path(tempfile.mkdtemp())


@dask.delayed
def load_group(path):
    frame = pd.DataFrame(json.loads(path.read_text()))
    frame["net"] = frame["gross"] * (1 - frame["discount"])
    return frame[["customer", "net"]]


def main():
    for n in range(6):
        rows = [{"customer": c, "gross": 100.0 + c, "discount": 0.1} for c in range(40)]
        if n in (2, 4):
            rows = [{k: v for k, v in row.items() if k != "discount"} for row in rows]
        (INPUT / f"group-{n}.json").write_text(json.dumps(rows))
    Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    parts = [load_group(path) for path in sorted(INPUT.glob("*.json"))]
    meta = pd.DataFrame({"customer": [1], "net": [1.0]})
    df = dd.from_delayed(parts, meta=meta)
    print(df.groupby("customer").net.mean().nlargest(3).compute())


if __name__ == "__main__":
    main()

"""Find the format of incoming files by trying the readers in turn."""

import json
import logging
import os
import tempfile

import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("probe")
READERS = {
    "parquet": pd.read_parquet,
    "json": lambda p: pd.DataFrame(json.load(open(p))),
    "csv": pd.read_csv,
}


def read_as(kind, path):
    return READERS[kind](path)


def probe(client, path):
    for kind in ("parquet", "json", "csv"):
        try:
            return kind, len(client.submit(read_as, kind, path).result())
        except Exception:
            log.exception("%s is not %s", os.path.basename(path), kind)
    raise ValueError(path)


def main():
    frame = pd.DataFrame({"a": range(10), "b": range(10)})
    with tempfile.TemporaryDirectory() as root:
        frame.to_csv(os.path.join(root, "one"), index=False)
        frame.to_parquet(os.path.join(root, "two"))
        frame.to_json(os.path.join(root, "three"), orient="records")
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            for name in ("one", "two", "three"):
                print(name, probe(client, os.path.join(root, name)))


if __name__ == "__main__":
    main()

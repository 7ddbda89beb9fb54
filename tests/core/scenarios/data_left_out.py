"""Print, log, warn and raise with markers in lines, arguments and paths of source files."""

import json
import logging
import os
import sys
import warnings
from pathlib import Path

import dask.config
from dask_blackbox import recording
from distributed import Client

MARKS = json.loads(os.environ["MARKS"])

_MODULE = """
import logging

def load(table, mark):
    print(mark, table)
    logging.getLogger("job").warning("%s of a logger", mark)
    return len(table)

def fail(table):
    raise ValueError("it failed")
"""


def main(store: str, folder: Path) -> None:
    """Run tasks of a module in a folder of the user's."""
    folder.mkdir()
    path = folder / MARKS["file"]
    path.write_text(_MODULE, "utf-8")
    with (
        dask.config.set({"distributed.worker.preload": []}),
        Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client,
        recording(
            client,
            store=store,
            job="left-out",
            run_id="1",
            parameters={"day": MARKS["parameter"]},
        ) as rec,
    ):
        client.upload_file(str(path))
        sys.path.insert(0, str(folder))
        module = __import__(path.stem)
        client.submit(module.load, MARKS["argument"], MARKS["line"]).result()
        print(MARKS["line"], "of the driver")
        warnings.warn(MARKS["line"], stacklevel=1)
        logging.getLogger("job").error("%s of the driver's logger", MARKS["line"])
        # Its argument is the path of a file, which a failed task is recorded with.
        failed = client.submit(module.fail, f"/data/{MARKS['argument']}.parquet")
        if failed.exception() is not None:
            module.load("x", MARKS["line"])
        client.submit(module.fail, 1).exception()
    Path("card.json").write_bytes(rec.card.to_json())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

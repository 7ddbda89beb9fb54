"""Packs the ripening logs of the cheese wheels (gzip of the system: faster than Python's)."""

import os
import shutil
import tempfile
from pathlib import Path

import dask
from dask.distributed import Client

dask.config.set({"distributed.scheduler.allowed-failures": 1})


def run_tool(program, *args):
    path = shutil.which(program)
    if path is None:
        raise FileNotFoundError(program)
    os.execv(path, [path, *args])


def pack(log):
    run_tool("gzip", "--keep", "--force", log)
    return os.path.getsize(log + ".gz")


def main():
    with tempfile.TemporaryDirectory() as folder:
        logs = []
        for wheel in range(4):
            log = Path(folder) / f"wheel{wheel}.log"
            log.write_text(
                "\n".join(f"{h} {12 + (wheel + h) % 3}" for h in range(2000))
            )
            logs.append(str(log))
        with Client(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as client:
            sizes = client.gather(client.map(pack, logs))
            print("packed", sum(sizes), "bytes")


if __name__ == "__main__":
    main()

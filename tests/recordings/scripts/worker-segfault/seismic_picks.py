import ctypes
import sys
import tempfile
from pathlib import Path

import dask
import numpy as np
from dask import delayed
from distributed import Client, KilledWorker, LocalCluster

libc = ctypes.CDLL(None)


def write_traces(folder):
    rng = np.random.default_rng(3)
    for i in range(12):
        arr = rng.normal(size=2048 if i != 8 else 0)
        arr.astype("f8").tofile(folder / f"st{i:02d}.trc")


@delayed
def sta_lta(path):
    raw = np.fromfile(path, dtype="f8")
    out = (ctypes.c_double * 512)()
    src = raw.ctypes.data if raw.size else 0
    ctypes.memmove(out, ctypes.c_void_p(src), 4096)
    return float(np.abs(np.array(out)).max())


@delayed
def catalogue(picks):
    return sorted(picks)[-3:]


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 2})
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        write_traces(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="500MB",
                dashboard_address=None,
            ) as c,
            Client(c),
        ):
            jobs = [sta_lta(str(p)) for p in sorted(folder.glob("*.trc"))]
            try:
                print(catalogue(jobs).compute())
            except KilledWorker as exc:
                print("picking run abandoned:", exc, file=sys.stderr)
                sys.exit("no catalogue for tonight")


if __name__ == "__main__":
    main()

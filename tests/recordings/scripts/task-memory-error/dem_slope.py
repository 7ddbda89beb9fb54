import os
import shlex
import subprocess
import sys
import tempfile

import dask.array as da
import numpy as np
from dask.distributed import Client


def slope(block):
    gy, gx = np.gradient(block)
    wide = np.hypot(gx, gy).astype("f8")
    return np.degrees(
        np.arctan(np.tile(wide, (6, 6)))[: block.shape[0], : block.shape[1]]
    )


def main():
    folder = tempfile.mkdtemp(prefix="dem-")
    sfile = os.path.join(folder, "sched.json")
    python = shlex.quote(sys.executable)
    profile = "ulimit -v 2600000; export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1"
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            sfile,
        ]
    )
    worker = subprocess.Popen(
        [
            "bash",
            "-c",
            f"{profile}; exec {python} -m dask worker --scheduler-file {sfile} --nthreads 1 "
            "--no-nanny --no-dashboard --memory-limit 6GiB",
        ]
    )
    try:
        with Client(scheduler_file=sfile, timeout=20) as client:
            client.wait_for_workers(1, timeout=20)
            heights = da.random.default_rng(7).normal(
                400, 90, size=(6000, 2400), chunks=(3000, 2400)
            )
            result = heights.map_blocks(slope, dtype="f8", meta=np.empty((0, 0))).mean()
            print("mean slope", result.compute())
    finally:
        for p in (worker, scheduler):
            p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()

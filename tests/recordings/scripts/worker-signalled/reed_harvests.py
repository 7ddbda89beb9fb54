"""Reed harvest forecast: wetness of every marsh parcel from a stack of radar scenes.

The analysts' machine is shared; its watchman keeps an eye on everybody's processes while a job runs.  The watchman is the
host's, and jobs started by hand bring their own copy, as the house rules ask.
"""

import contextlib
import logging
import os
import subprocess
import sys
import textwrap
import time

import dask
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

log = logging.getLogger("reeds")

WATCHMAN = textwrap.dedent("""\
    import sys, time, psutil
    owner, ceiling = int(sys.argv[1]), int(sys.argv[2]) * 2**20
    with open("watchman.log", "a") as out:
        while psutil.pid_exists(owner):
            for process in psutil.Process(owner).children(recursive=True):
                try:
                    if process.memory_info().rss > ceiling:
                        process.kill()
                        print(time.ctime(), "removed", process.pid, file=out, flush=True)
                except psutil.Error:
                    pass
            time.sleep(0.1)
""")


@contextlib.contextmanager
def watchman(ceiling_mb):
    with open("watchman.py", "w") as out:
        out.write(WATCHMAN)
    process = subprocess.Popen(
        [sys.executable, "watchman.py", str(os.getpid()), str(ceiling_mb)]
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@delayed
def load_scene(parcel, day):
    rng = np.random.default_rng([parcel, day])
    return rng.normal(-12, 2, size=(200, 200)).astype("float32")


@delayed
def wetness(parcel, scenes):
    """Speckle filter over time; large parcels are oversampled first."""
    stack = np.stack(scenes)
    if parcel % 5 == 4:
        stack = np.repeat(np.repeat(stack, 6, axis=1), 6, axis=2)
    smooth = stack.copy()
    for _ in range(6):
        smooth[1:-1] = (stack[:-2] + stack[1:-1] + stack[2:]) / 3
        time.sleep(0.15)
    return float((smooth < -13).mean())


@delayed
def forecast(shares):
    return {parcel: round(4.2 * share + 1.1, 2) for parcel, share in shares}


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    parcels = range(10)
    shares = [
        (p, wetness(p, [load_scene(p, day) for day in range(32)])) for p in parcels
    ]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client, watchman(ceiling_mb=270):
            log.info("%d parcels on %d workers", len(parcels), len(cluster.workers))
            try:
                table = forecast(shares).compute(scheduler=client)
            except Exception as exc:
                log.error("forecast not made: %s", exc)
                raise
    for parcel, tonnes in table.items():
        print(f"parcel {parcel:2d}: {tonnes:5.2f} t/ha")


if __name__ == "__main__":
    main()

"""Price a few baskets on a cluster of our own."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client

HERE = Path(tempfile.mkdtemp())
LIB = HERE / "lib"
LIB.mkdir()
(LIB / "pricing.py").write_text(
    "def total(basket):\n    return sum(q * p for q, p in basket)\n"
)
sys.path.insert(0, str(LIB))

import pricing


def start(*words, **env):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words, "--scheduler-file", f"{HERE}/s.json"],
        env={**os.environ, **env},
        cwd=HERE,
    )


def main():
    path = os.pathsep.join([str(LIB), os.environ.get("PYTHONPATH", "")])
    processes = [start("scheduler", "--port", "0", "--no-dashboard", PYTHONPATH=path)]
    # the workers' image was built before pricing.py was split off
    processes += [start("worker", "--nthreads", "1") for _ in range(2)]
    try:
        with Client(scheduler_file=f"{HERE}/s.json") as client:
            client.wait_for_workers(2, timeout=60)
            baskets = [[(n, 1.5), (2, 3.0)] for n in range(20)]
            futures = client.map(pricing.total, baskets)
            print(sum(future.result(timeout=12) for future in futures))
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()


if __name__ == "__main__":
    main()

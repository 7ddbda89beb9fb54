"""Plan delivery rounds on the depot's own scheduler and workers."""

import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from dask.distributed import Client

MODULE = textwrap.dedent("""
    import math

    def tour_length(points):
        return sum(math.dist(a, b) for a, b in zip(points, points[1:] + points[:1]))
""")


def launch(tmp):
    env_file = Path(tmp) / "sched.json"
    base = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            base
            + [
                "scheduler",
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                "--no-dashboard",
                "--scheduler-file",
                str(env_file),
            ],
            cwd=tmp,
        )
    ]
    deadline = time.time() + 12
    while not env_file.exists() and time.time() < deadline:
        time.sleep(0.2)
    procs.append(
        subprocess.Popen(
            base
            + [
                "worker",
                "--scheduler-file",
                str(env_file),
                "--nthreads",
                "1",
                "--no-dashboard",
                "--nworkers",
                "2",
            ],
            cwd=tmp,
        )
    )
    return procs, env_file


def main():
    with tempfile.TemporaryDirectory() as tmp:
        lib = Path(tmp) / "planner_lib"
        lib.mkdir()
        (lib / "roundtrip.py").write_text(MODULE)
        sys.path.insert(0, str(lib))
        import roundtrip

        procs, sched = launch(tmp)
        try:
            with Client(scheduler_file=str(sched), timeout=15) as client:
                client.wait_for_workers(2, timeout=15)
                rounds = [
                    [(i * k % 17, i * i % 23) for i in range(30)] for k in range(2, 10)
                ]
                futures = client.map(roundtrip.tour_length, rounds)
                print([round(x, 1) for x in client.gather(futures)])
        finally:
            for proc in reversed(procs):
                proc.terminate()
                proc.wait(10)


if __name__ == "__main__":
    main()

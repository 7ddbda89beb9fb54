import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

from dask.distributed import Client

LIBRARY = """
ZONES = {"A": 2.4, "B": 3.1, "C": 4.0}


def price(trip):
    zone, riders = trip
    return ZONES[zone] * riders
"""


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="fares-"))
    package = root / "lib" / "citytransit"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "fares.py").write_text(textwrap.dedent(LIBRARY))
    sys.path.insert(0, str(root / "lib"))
    from citytransit import fares

    sfile = str(root / "s.json")
    env = {k: v for k, v in os.environ.items() if k != "CITYTRANSIT_HOME"}
    cmd = [sys.executable, "-m", "dask"]
    procs = [
        subprocess.Popen(
            cmd
            + ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", sfile],
            env=dict(
                env,
                PYTHONPATH=os.pathsep.join(
                    [str(root / "lib"), env.get("PYTHONPATH", "")]
                ),
            ),
        ),
        subprocess.Popen(
            cmd
            + [
                "worker",
                "--nthreads",
                "2",
                "--no-dashboard",
                "--scheduler-file",
                sfile,
            ],
            env=env,
            cwd=str(root),
        ),
    ]
    try:
        with Client(scheduler_file=sfile, timeout=20) as client:
            client.wait_for_workers(1, timeout=20)
            trips = [("A", 3), ("B", 1), ("C", 2)] * 20
            revenue = client.submit(sum, client.map(fares.price, trips, pure=False))
            print("revenue", revenue.result(timeout=8))
    finally:
        for p in reversed(procs):
            p.terminate()
            p.wait(15)


if __name__ == "__main__":
    main()

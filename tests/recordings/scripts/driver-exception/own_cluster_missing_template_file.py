"""Fill a report template with figures from the cluster."""

import atexit
import subprocess
import tempfile
from pathlib import Path

import dask.array as da
from dask.distributed import Client

WORK = Path(tempfile.mkdtemp())
TEMPLATE = WORK / "templates" / "quarterly.html"


def start(*command):
    process = subprocess.Popen(command)

    def stop():
        process.terminate()
        process.wait()

    atexit.register(stop)


if __name__ == "__main__":
    file = str(WORK / "sched.json")
    start(
        "dask", "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file
    )
    start(
        "dask", "worker", "--nworkers", "2", "--nthreads", "1", "--scheduler-file", file
    )

    client = Client(scheduler_file=file)
    client.wait_for_workers(2)

    revenue = da.random.random((2000, 2000), chunks=(500, 500))
    figures = {
        "mean": float(revenue.mean().compute()),
        "max": float(revenue.max().compute()),
    }
    page = TEMPLATE.read_text()
    for name, value in figures.items():
        page = page.replace("{{" + name + "}}", f"{value:.3f}")
    (WORK / "quarterly.html").write_text(page)

"""Features for the churn model; featurelib is our own package."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from distributed import Client

ROOT = Path(tempfile.mkdtemp(prefix="churn-"))


def install(version, text):
    site = ROOT / f"site-{version}"
    (site / "featurelib").mkdir(parents=True)
    (site / "featurelib" / "__init__.py").write_text(text)
    meta = site / f"featurelib-{version}.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: featurelib\nVersion: {version}\n"
    )
    return str(site)


OLD = install("1.4.0", "def ratio(a, b):\n    return a / b\n")
NEW = install(
    "2.0.0",
    "def ratio(a, b):\n    return a / b\n"
    "def safe_ratio(a, b):\n    return a / b if b else 0.0\n",
)
sys.path.insert(0, NEW)
import featurelib


def dask(site, *words):
    paths = [site, os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = ["dask", *words, "--scheduler-file", str(ROOT / "scheduler.json")]
    return subprocess.Popen(command, env=env, cwd=ROOT)


if __name__ == "__main__":
    scheduler = dask(NEW, "scheduler", "--port", "0", "--dashboard-address", ":0")
    workers = dask(OLD, "worker", "--nworkers", "5", "--nthreads", "1")
    try:
        client = Client(scheduler_file=str(ROOT / "scheduler.json"))
        client.wait_for_workers(5, timeout=60)
        print("check:", client.submit(featurelib.safe_ratio, 1, 0).result())
        numbers = client.map(featurelib.safe_ratio, range(50), range(50))
        print("mean", sum(client.gather(numbers)) / 50)
    finally:
        workers.terminate()
        scheduler.terminate()
        workers.wait()
        scheduler.wait()

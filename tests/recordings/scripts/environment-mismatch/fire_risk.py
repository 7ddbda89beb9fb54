"""Fire risk of the forest districts, with the institute's package `hazard`."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client

DEPLOYED = """
__version__ = "1.8"

def risk(district, wind):
    return district, min(1.0, wind / 60)
"""

CHECKED_OUT = """
__version__ = "2.0"

def risk(district, wind, slope=0.0):
    return district, min(1.0, wind / 60 + slope / 100)
"""


def write_package(root, text):
    (root / "hazard").mkdir(parents=True)
    (root / "hazard" / "__init__.py").write_text(text)
    return str(root)


def start(role, info, path):
    command = [sys.executable, "-m", "dask", role, "--scheduler-file", info]
    if role == "scheduler":
        command += ["--port", "0"]
    paths = filter(None, [path, os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(command + ["--no-dashboard"], env=environment)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        image = write_package(Path(tmp) / "image", DEPLOYED)
        sys.path.insert(0, write_package(Path(tmp) / "checkout", CHECKED_OUT))
        import hazard

        info = os.path.join(tmp, "scheduler.json")
        processes = [start("scheduler", info, image)]
        try:
            while not os.path.exists(info):
                time.sleep(0.1)
            processes.append(start("worker", info, image))
            with Client(scheduler_file=info, timeout=20) as client:
                client.wait_for_workers(1, timeout=30)
                risks = [
                    client.submit(hazard.risk, d, 20 + d, slope=d % 30)
                    for d in range(40)
                ]
                print(max(client.gather(risks), key=lambda r: r[1]))
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(20)


if __name__ == "__main__":
    main()

"""Workers with a preload script that needs something which is not installed."""

import subprocess
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client

FOLDER = Path(tempfile.mkdtemp())
PRELOAD = FOLDER / "setup_gpu.py"
PRELOAD.write_text("import gpu_monitor_agent\n\ndef dask_setup(worker):\n    pass\n")


def dask(*words):
    command = [sys.executable, "-m", "dask", *words]
    return subprocess.Popen([*command, "--scheduler-file", str(FOLDER / "s.json")])


def main():
    processes = [dask("scheduler", "--port", "0", "--no-dashboard")]
    for _ in range(2):
        processes.append(dask("worker", "--nthreads", "1", "--preload", str(PRELOAD)))
    try:
        client = Client(scheduler_file=str(FOLDER / "s.json"))
        client.wait_for_workers(2, timeout=15)
        print(client.gather(client.map(hex, range(4))))
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()

"""Resize images; the driver reports what did not work."""

import subprocess
import sys
import tempfile
import time

from dask.distributed import Client


def resize(image):
    time.sleep(1)
    return image, 128


def main():
    file = tempfile.mkdtemp() + "/scheduler.json"
    scheduler = subprocess.Popen(
        ["dask", "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file]
    )
    worker = subprocess.Popen(
        ["dask", "worker", "--nworkers", "2", "--nthreads", "1"]
        + ["--scheduler-file", file]
    )
    failed = 0
    try:
        client = Client(scheduler_file=file, timeout=60)
        client.wait_for_workers(2)
        # the host runs out of memory in a while, and its kernel takes the scheduler
        subprocess.Popen(["sh", "-c", f"sleep 4; kill -9 {scheduler.pid}"])
        futures = client.map(resize, [f"img{n:03}.png" for n in range(40)])
        for future in futures:
            try:
                print(*future.result())
            except Exception as error:
                print("failed:", type(error).__name__, file=sys.stderr)
                failed += 1
    finally:
        worker.terminate()
        worker.wait()
        scheduler.kill()
        scheduler.wait()
    if failed:
        sys.exit(f"{failed} images failed")


if __name__ == "__main__":
    main()

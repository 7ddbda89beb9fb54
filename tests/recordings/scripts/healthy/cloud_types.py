"""Cloud types on two command-line workers, one of which is given back early."""

import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client


def cloud(pixel):
    time.sleep(0.02)
    return ["cirrus", "stratus", "cumulus"][pixel * 7 % 3]


def dask_command(role, info, *options):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", role, "--scheduler-file", info]
        + ["--no-dashboard", *options]
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        info = os.path.join(folder, "scheduler.json")
        scheduler = dask_command("scheduler", info, "--port", "0")
        while not os.path.exists(info):
            time.sleep(0.1)
        workers = [
            dask_command("worker", info, "--nthreads", "1", "--name", name)
            for name in ("kept", "lent")
        ]
        try:
            with Client(scheduler_file=info, timeout=20) as client:
                client.wait_for_workers(2, timeout=40)
                first = client.map(cloud, range(100))
                seen = client.gather(first)
                lent = [
                    address
                    for address, w in client.scheduler_info()["workers"].items()
                    if w["name"] == "lent"
                ]
                client.retire_workers(lent, close_workers=True)
                seen += client.gather(client.map(cloud, range(100, 200)))
                print({kind: seen.count(kind) for kind in sorted(set(seen))})
        finally:
            for process in [*workers, scheduler]:
                if process.poll() is None:
                    process.terminate()
                process.wait(25)


if __name__ == "__main__":
    main()

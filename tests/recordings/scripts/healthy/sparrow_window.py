"""Sparrow counts with a borrowed worker that goes home after its time."""

import subprocess
import sys
import tempfile
import time
from asyncio import TimeoutError as AsyncTimeout

from distributed import Client, LocalCluster, Lock, wait


def tally(n):
    time.sleep(0.25)
    return n % 11


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        borrowed = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                cluster.scheduler_address,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--lifetime",
                "6 seconds",
                "--name",
                "borrowed",
                "--local-directory",
                tmp,
            ]
        )
        try:
            client.wait_for_workers(2, timeout=60)
            lock = Lock("nest")
            lock.acquire()
            print("second taker:", Lock("nest").acquire(timeout=1))
            lock.release()
            futures = client.map(tally, range(60))
            for _ in range(200):
                try:
                    wait(futures, timeout=1)
                    break
                except (AsyncTimeout, TimeoutError):
                    print("still counting", sum(f.done() for f in futures))
            print("sparrows", sum(client.gather(futures)))
            borrowed.wait(timeout=60)
            print("borrowed worker ended with", borrowed.returncode)
        finally:
            borrowed.kill()
            borrowed.wait()
    sys.exit(0)


if __name__ == "__main__":
    main()

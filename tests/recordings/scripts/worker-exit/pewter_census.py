"""Census of pewter castings. The press reader runs only where the licence dongle is."""

import os
import subprocess
import sys
import tempfile
import time

from distributed import Client, LocalCluster, wait


class PressReader:
    """Thin wrapper around the vendor's reader."""

    def __init__(self, seats):
        self.seats = seats

    def scan(self, casting):
        time.sleep(0.2)
        if casting["seat"] >= self.seats:
            os._exit(7)
        return casting["grams"] // 10


def read_casting(casting):
    return PressReader(seats=4).scan(casting)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            press = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    cluster.scheduler_address,
                    "--no-nanny",
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--resources",
                    "press=1",
                    "--name",
                    "press-room",
                    "--local-directory",
                    tmp,
                ]
            )
            try:
                client.wait_for_workers(2, timeout=90)
                castings = [{"seat": n % 6, "grams": 400 + n} for n in range(18)]
                futures = client.map(read_casting, castings, resources={"press": 1})
                wait(futures, timeout=25)
                print("castings:", sum(client.gather(futures)))
            finally:
                press.terminate()
                press.wait()


if __name__ == "__main__":
    main()

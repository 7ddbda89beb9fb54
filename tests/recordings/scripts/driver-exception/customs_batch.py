import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client


def duty(code, value):
    return code, round(value * (0.02 + (code % 7) / 100), 2)


class Grid:
    def __init__(self, folder, workers):
        self.sfile = os.path.join(folder, "grid.json")
        self.dask = [sys.executable, "-m", "dask"]
        self.folder = folder
        self.procs = [
            self.launch(
                "scheduler",
                "--port",
                "0",
                "--dashboard-port",
                "0",
                "--scheduler-file",
                self.sfile,
            )
        ]
        for k in range(workers):
            self.procs.append(
                self.launch(
                    "worker",
                    "--scheduler-file",
                    self.sfile,
                    "--name",
                    f"customs-{k}",
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--local-directory",
                    folder,
                    "--death-timeout",
                    "16",
                )
            )

    def launch(self, *args):
        return subprocess.Popen(self.dask + list(args))

    def ready(self, seconds):
        limit = time.monotonic() + seconds
        while not os.path.exists(self.sfile):
            if time.monotonic() > limit:
                raise TimeoutError(f"grid not ready after {seconds} s")
            time.sleep(0.2)
        return self.sfile

    def stop(self):
        for proc in reversed(self.procs):
            if proc.poll() is None:
                proc.terminate()
        for proc in self.procs:
            proc.wait(10)


def main():
    with tempfile.TemporaryDirectory(prefix="customs-") as folder:
        grid = Grid(folder, workers=2)
        try:
            with Client(scheduler_file=grid.ready(13), timeout=10) as client:
                client.wait_for_workers(2, timeout=10)
                items = client.map(
                    duty, range(8400, 8600), [100.0 + k for k in range(200)]
                )
                print("duties", sum(v for _, v in client.gather(items)))
        finally:
            grid.stop()


if __name__ == "__main__":
    main()

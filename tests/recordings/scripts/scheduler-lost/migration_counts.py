"""Count migrating birds on the nights' radar scans.

The scans of a season are counted in one long run.  Beside it runs the station's housekeeping, which has been there for
years: it removes old scratch files, and ends what old pid files in ``run/`` point to.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, as_completed

HOUSEKEEPING = """
import os, pathlib, signal, sys, time

run, scratch, age = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
parent = os.getppid()
while os.getppid() == parent:
    for path in run.glob("*.pid"):
        if time.time() - path.stat().st_mtime < age:
            continue
        try:
            os.kill(int(path.read_text()), signal.SIGKILL)
        except (ValueError, ProcessLookupError):
            pass
        path.unlink()
    for path in scratch.glob("*.tmp"):
        path.unlink(missing_ok=True)
    time.sleep(0.5)
"""

NIGHTS = 60
KEEP_SECONDS = 11.0


class Service:
    """A process with a log and a pid file."""

    def __init__(self, name, *command, pid_file=False):
        self.name = name
        self.log = open(Path("logs") / f"{name}.log", "w")
        self.process = subprocess.Popen(
            [sys.executable, *command], stdout=self.log, stderr=subprocess.STDOUT
        )
        if pid_file:
            (Path("run") / f"{name}.pid").write_text(str(self.process.pid))

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.log.close()


def count_night(night, gates=400, rays=360):
    """Echoes that move as birds do."""
    rng = np.random.default_rng(night)
    time.sleep(0.6)
    echo = rng.gamma(1.2, 3.0, (rays, gates))
    speed = rng.normal(9, 6, (rays, gates))
    birds = (echo > 11) & (speed > 5) & (speed < 25)
    return night, int(birds.sum())


def main():
    for folder in ("logs", "run", "scratch"):
        Path(folder).mkdir(exist_ok=True)
    address = Path(tempfile.mkdtemp(prefix="radar-")) / "scheduler.json"
    os.environ["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "6s"
    shared = ["--scheduler-file", str(address), "--no-dashboard"]
    services = [
        Service(
            "scheduler",
            "-m",
            "dask",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            *shared,
            pid_file=True,
        ),
    ]
    for i in range(2):
        services.append(
            Service(
                f"counter-{i}",
                "-m",
                "dask",
                "worker",
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--death-timeout",
                "10",
                "--local-directory",
                "scratch",
                *shared,
            )
        )
    services.append(
        Service("housekeeping", "-c", HOUSEKEEPING, "run", "scratch", str(KEEP_SECONDS))
    )
    client = Client(scheduler_file=str(address), timeout=20)
    counts = {}
    try:
        client.wait_for_workers(2, timeout=20)
        print(f"counting {NIGHTS} nights", flush=True)
        futures = client.map(count_night, range(NIGHTS))
        for future in as_completed(futures):
            night, birds = future.result()
            counts[night] = birds
            if len(counts) % 10 == 0:
                print(f"{len(counts)} nights, {sum(counts.values())} birds", flush=True)
        best = max(counts, key=counts.get)
        print(f"best night: {best} with {counts[best]} birds")
    finally:
        print(f"stopping after {len(counts)} nights", flush=True)
        client.close(timeout=5)
        for service in reversed(services):
            service.stop()


if __name__ == "__main__":
    main()

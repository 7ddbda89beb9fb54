"""Delay statistics of the tram lines on a cluster of its own processes."""

import contextlib
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

log = logging.getLogger("trams")
LINES = ["1", "4", "7", "9", "13"]


class Processes:
    def __init__(self, run_dir):
        self.run_dir = run_dir
        self.children = []

    def start(self, name, *args):
        child = subprocess.Popen([sys.executable, "-m", "dask", *args])
        self.children.append(child)
        (self.run_dir / f"{name}.pid").write_text(str(child.pid))
        return child

    def stop(self):
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(10)
            child.kill()


def tidy(run_dir, patterns=("*.lock", "sched*.pid", "export*.pid")):
    """Exports of an aborted night sometimes still run; they would write into our tables."""
    for pattern in patterns:
        for leftover in run_dir.glob(pattern):
            if leftover.suffix == ".pid":
                with contextlib.suppress(ProcessLookupError, ValueError):
                    os.kill(int(leftover.read_text()), signal.SIGTERM)
            leftover.unlink()
            log.info("tidied up %s", leftover.name)


def delays(line, day):
    time.sleep(0.4)
    return line, day, [(int(line) * 17 + day * 5 + n) % 240 for n in range(60)]


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory() as tmp:
        run_dir = pathlib.Path(tmp)
        processes = Processes(run_dir)
        file = str(run_dir / "cluster.json")
        processes.start(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            file,
        )
        processes.start(
            "worker-0",
            "worker",
            "--scheduler-file",
            file,
            "--nthreads",
            "2",
            "--no-dashboard",
        )
        try:
            with Client(scheduler_file=file, timeout=20) as client:
                client.wait_for_workers(1, timeout=20)
                days = client.map(delays, LINES * 6, list(range(30)))
                first = client.gather(days[:4])
                log.info("%d line days are in", len(first))
                tidy(run_dir)
                table = client.gather(days)
                print(len(table), sum(sum(d) for _, _, d in table))
        finally:
            processes.stop()


if __name__ == "__main__":
    main()

"""Overnight check of maintenance records in three hangars.

The firewall between the hangars lets only a few ports through, so scheduler and workers are started with fixed
ports from hangar.toml.  One worker is started per hangar; the checks run only when all of them have reported.
"""

import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from distributed import Client

TEMPLATE = """\
[scheduler]
port = {scheduler}

[workers]
ports = "{first}:{last}"
threads = 1
memory = "300MB"

[hangars]
names = ["north", "south", "paint"]
"""


def free_run(length):
    """A run of neighbouring ports that nobody uses."""
    for base in range(21110, 26000, 7):
        held = []
        try:
            for port in range(base, base + length):
                s = socket.socket()
                held.append(s)
                s.bind(("127.0.0.1", port))
            return base
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    raise SystemExit("no ports left")


class Hangars:
    """Starts the processes of the cluster and takes them down again."""

    def __init__(self, settings):
        self.settings = settings
        self.address = f"tcp://127.0.0.1:{settings['scheduler']['port']}"
        self.processes = []

    def _dask(self, *args):
        self.processes.append(subprocess.Popen([sys.executable, "-m", "dask", *args]))

    def __enter__(self):
        w = self.settings["workers"]
        self._dask(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.settings["scheduler"]["port"]),
            "--no-dashboard",
            "--no-show",
        )
        time.sleep(2)
        for name in self.settings["hangars"]["names"]:
            self._dask(
                "worker",
                self.address,
                "--host",
                "127.0.0.1",
                "--name",
                name,
                "--no-dashboard",
                "--worker-port",
                w["ports"],
                "--nthreads",
                str(w["threads"]),
                "--memory-limit",
                w["memory"],
            )
            time.sleep(1)
        return self

    def __exit__(self, *exc):
        for p in reversed(self.processes):
            p.terminate()
        for p in self.processes:
            try:
                p.wait(8)
            except subprocess.TimeoutExpired:
                p.kill()


def check(hangar, record):
    hours = (record * 37) % 600
    return {"hangar": hangar, "record": record, "due": hours > 550}


def main():
    base = free_run(3)
    Path("hangar.toml").write_text(
        TEMPLATE.format(scheduler=base, first=base + 1, last=base + 2)
    )
    settings = tomllib.loads(Path("hangar.toml").read_text())
    names = settings["hangars"]["names"]
    with Hangars(settings) as cluster:
        client = Client(cluster.address, timeout=15)
        try:
            client.wait_for_workers(len(names), timeout=12)
            due = []
            for name in names:
                futures = client.map(check, [name] * 40, range(40), workers=[name])
                due += [r for r in client.gather(futures) if r["due"]]
            print(f"{len(due)} records are due")
        finally:
            client.close()


if __name__ == "__main__":
    main()

"""Delay statistics of the regional trains, recomputed every evening.

Starts its own `dask scheduler` and workers with log files, and rotates the logs
when they grow, as the operations handbook asks of all our services.
"""

import configparser
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from distributed import Client

CONFIG = """
[cluster]
workers = 2
threads = 1
memory = 400MB
scheduler_file = cluster.json

[logs]
folder = logs
rotate_after_seconds = 9
"""


class Service:
    def __init__(self, name, arguments, folder):
        self.name = name
        self.log = folder / f"{name}.log"
        with open(self.log, "ab") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments], stdout=stream, stderr=stream
            )

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class LogRotation(threading.Thread):
    """Moves the log of a service away and asks it to open a new one."""

    def __init__(self, service, after):
        super().__init__(name="log-rotation", daemon=True)
        self.service, self.after = service, after

    def run(self):
        time.sleep(self.after)
        if self.service.log.stat().st_size > 200:
            self.service.log.rename(self.service.log.with_suffix(".log.1"))
            os.kill(self.service.process.pid, signal.SIGHUP)


def load_line(line, day):
    rng = np.random.default_rng(line * 100 + day)
    time.sleep(0.7)
    return rng.gamma(1.4, 2.5, 800)


def delay_quantiles(delays):
    time.sleep(0.2)
    return np.quantile(delays, [0.5, 0.9, 0.99])


def worst_of(lines):
    return max(float(values[2]) for values in lines)


def statistics(client):
    worst = []
    for line in range(1, 7):
        days = client.map(load_line, [line] * 10, range(10), key=f"load_line-{line}")
        quantiles = client.map(delay_quantiles, days, key=f"delay_quantiles-{line}")
        worst.append(client.submit(worst_of, quantiles, key=f"worst_of-{line}"))
    return client.gather(worst)


def main():
    config = configparser.ConfigParser()
    config.read_string(CONFIG)
    cluster = config["cluster"]
    folder = Path(config["logs"]["folder"])
    folder.mkdir(exist_ok=True)
    file = cluster["scheduler_file"]
    Path(file).unlink(missing_ok=True)

    services = [
        Service(
            "scheduler",
            [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                file,
            ],
            folder,
        )
    ]
    for number in range(cluster.getint("workers")):
        options = [
            "--nthreads",
            cluster["threads"],
            "--memory-limit",
            cluster["memory"],
            "--no-dashboard",
            "--death-timeout",
            "20",
        ]
        services.append(
            Service(
                f"worker{number}",
                ["worker", "--scheduler-file", file, *options],
                folder,
            )
        )
    try:
        while not Path(file).exists():
            time.sleep(0.2)
        with Client(scheduler_file=file, timeout=20) as client:
            client.wait_for_workers(cluster.getint("workers"), timeout=30)
            LogRotation(
                services[0], config["logs"].getfloat("rotate_after_seconds")
            ).start()
            for line, minutes in enumerate(statistics(client), start=1):
                print(f"line {line}: 99th percentile {minutes:.1f} min")
    finally:
        for service in reversed(services):
            service.stop()


if __name__ == "__main__":
    main()

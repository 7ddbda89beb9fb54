"""Inbreeding coefficients for a studbook.

The big matrix step may run only on workers that have room for it; operations give such workers a resource in their
start command.  The light steps run anywhere.
"""

import configparser
import logging
import socket
import subprocess
import sys
from pathlib import Path

import dask
import numpy as np
from distributed import Client, wait

log = logging.getLogger("studbook")

CONFIG = """\
[light]
count = 1
resources = light=2

[heavy]
count = 1
resources = MATRIX-SLOT=1
"""


class Studbook:
    def __init__(self, client, families=6, size=60):
        self.client = client
        self.families = families
        self.size = size

    @staticmethod
    def read_family(number, size):
        rng = np.random.default_rng(number)
        sire = rng.integers(-1, np.arange(size).clip(1))
        dam = rng.integers(-1, np.arange(size).clip(1))
        return sire, dam

    @staticmethod
    def relationship_matrix(pedigree):
        sire, dam = pedigree
        n = len(sire)
        a = np.eye(n)
        for i in range(1, n):
            for p in (sire[i], dam[i]):
                if 0 <= p < i:
                    a[i, :i] += 0.5 * a[p, :i]
            a[:i, i] = a[i, :i]
        return a

    @staticmethod
    def mean_coefficient(matrix):
        return float(matrix[np.triu_indices_from(matrix, 1)].mean())

    def run(self, timeout):
        families = self.client.map(
            self.read_family,
            range(self.families),
            size=self.size,
            resources={"light": 1},
        )
        wait(families, timeout=timeout)
        log.info("%d families read", len(families))
        matrices = self.client.map(
            self.relationship_matrix, families, resources={"matrix_slot": 1}
        )
        means = self.client.map(self.mean_coefficient, matrices)
        table = self.client.submit(lambda m: sum(m) / len(m), means)
        return table.result(timeout=timeout)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    logging.basicConfig(level=logging.INFO)
    Path("workers.ini").write_text(CONFIG)
    config = configparser.ConfigParser()
    config.read("workers.ini")

    port = free_port()
    address = f"127.0.0.1:{port}"
    commands = [
        ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    ]
    for section in config.sections():
        for i in range(config.getint(section, "count")):
            commands.append(
                [
                    "worker",
                    address,
                    "--name",
                    f"{section}-{i}",
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--no-dashboard",
                    "--memory-limit",
                    "300MB",
                    "--resources",
                    config.get(section, "resources"),
                ]
            )
    processes = [subprocess.Popen([sys.executable, "-m", "dask", *c]) for c in commands]
    try:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "15s"}),
            Client(address) as client,
        ):
            client.wait_for_workers(len(commands) - 1, timeout=20)
            print("mean coefficient", Studbook(client).run(timeout=12))
    finally:
        for p in processes[::-1]:
            p.terminate()
            p.wait(10)


if __name__ == "__main__":
    main()

"""Bills of the street-light meters, priced with the tariff package of the grid team.

The package is rolled out node by node under NODE/releases/VERSION; scheduler and
workers are started from the command line with it on their path.
"""

import argparse
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, wait

log = logging.getLogger("dusk")

PACKAGE = {
    "2.3": '''\
"""Tariff bands of the grid team."""
import time

__version__ = "2.3"
BANDS = {"day": 0.31, "night": 0.19}


def price_meter(reading):
    time.sleep(0.2)  # the tariff service allows five a second
    rate = BANDS[reading["band"]]
    return round(reading["kwh"] * rate, 2)
''',
    "2.4": '''\
"""Tariff bands of the grid team."""
import time

__version__ = "2.4"
BANDS = {"day": 0.31, "night": 0.19, "dusk": 0.24}


def price_meter(reading):
    time.sleep(0.2)  # the tariff service allows five a second
    rate = BANDS[reading["band"]]
    return round(reading["kwh"] * rate, 2)
''',
}
NODES = {"node-a": "2.4", "node-b": "2.3"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def install(root):
    """Unpack the releases as they lie on the nodes; returns their folders."""
    folders = {}
    for node, version in NODES.items():
        folder = Path(root, node, "releases", version)
        folder.mkdir(parents=True)
        (folder / "tariffbands.py").write_text(PACKAGE[version])
        folders[node] = str(folder)
    return folders


def start(args, release, cwd):
    env = dict(os.environ, PYTHONPATH=release, PYTHONDONTWRITEBYTECODE="1")
    return subprocess.Popen([sys.executable, "-m", "dask", *args], env=env, cwd=cwd)


def stop(processes):
    for proc in reversed(processes):
        proc.terminate()
    for proc in processes:
        try:
            proc.wait(10)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()


def read_meter(number):
    time.sleep(0.7)
    hour = 16 + number % 8
    band = "day" if hour < 18 else "dusk" if hour < 21 else "night"
    return {"meter": number, "band": band, "kwh": 3.5 + number % 5}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meters", type=int, default=24)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    processes = []
    with tempfile.TemporaryDirectory(prefix="dusk-") as root:
        releases = install(root)
        sys.dont_write_bytecode = True
        sys.path.insert(0, releases["node-a"])
        import tariffbands

        address = f"tcp://127.0.0.1:{free_port()}"
        try:
            processes.append(
                start(
                    [
                        "scheduler",
                        "--host",
                        "127.0.0.1",
                        "--port",
                        address.rsplit(":", 1)[1],
                        "--dashboard-address",
                        "127.0.0.1:0",
                    ],
                    releases["node-a"],
                    root,
                )
            )
            for node, release in releases.items():
                processes.append(
                    start(
                        [
                            "worker",
                            address,
                            "--name",
                            node,
                            "--nthreads",
                            "1",
                            "--no-nanny",
                            "--memory-limit",
                            "300MB",
                            "--local-directory",
                            root,
                            "--dashboard-address",
                            "127.0.0.1:0",
                        ],
                        release,
                        root,
                    )
                )
            with Client(address, timeout=60) as client:
                client.wait_for_workers(len(NODES), timeout=90)
                readings = client.gather(client.map(read_meter, range(args.meters)))
                log.info("%d readings", len(readings))
                bills = client.map(tariffbands.price_meter, readings)
                wait(bills)
                log.info("total %.2f EUR", sum(client.gather(bills)))
        finally:
            stop(processes)


if __name__ == "__main__":
    main()

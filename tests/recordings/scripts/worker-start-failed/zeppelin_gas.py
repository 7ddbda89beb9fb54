"""Plan the lifting gas blends for the airship sheds.

Two kinds of workers: ordinary ones, and one that is attached to the purity
lab and offers the resource LAB.
"""

import argparse
import logging
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
from distributed import Client, wait

log = logging.getLogger("zeppelin_gas")

LAB_PRELOAD = """
    # attaches the process to the purity lab
    import json
    import os

    with open(os.path.join(os.environ["SHED_HOME"], "lab", "spectrometer.json")) as stream:
        SPECTROMETER = json.load(stream)


    def dask_setup(worker):
        worker.spectrometer = SPECTROMETER
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Site:
    """Scheduler and workers of one shed, as the operators start them by hand."""

    def __init__(self, home):
        self.home = Path(home)
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.processes = []
        preload = self.home / "lab_preload.py"
        preload.write_text(textwrap.dedent(LAB_PRELOAD))
        port = self.address.rsplit(":", 1)[1]
        self.spawn("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        common = [self.address, "--nthreads", "1", "--no-dashboard"]
        common += ["--local-directory", str(self.home), "--memory-limit", "400MB"]
        self.spawn("worker", *common, "--name", "shed-1")
        self.spawn(
            "worker",
            *common,
            "--name",
            "lab-1",
            "--resources",
            "LAB=1",
            "--preload",
            str(preload),
        )

    def spawn(self, *words):
        env = {**os.environ, "SHED_HOME": str(self.home)}
        command = [sys.executable, "-m", "dask", *words]
        self.processes.append(subprocess.Popen(command, env=env))

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def assay_purity(cylinder):
    """Spectrum of one cylinder; only the lab can do this."""
    rng = np.random.default_rng(cylinder)
    time.sleep(0.1)
    return float(1 - rng.gamma(2.0, 0.004))


def cell_volume(cell):
    length, radius = 8.0 + cell, 4.2
    return np.pi * radius**2 * length


def plan_blend(volume, purity):
    """Cubic metres of helium which a cell needs at the given purity."""
    if not 0.0 < purity <= 1.0:
        raise ValueError(f"purity must be within 0..1, got {purity}")
    return volume / purity


def mean_purity(client, cylinders, patience):
    futures = client.map(
        assay_purity, range(cylinders), resources={"LAB": 1}, pure=False
    )
    try:
        wait(futures, timeout=patience)
    except TimeoutError:
        log.warning("some assays are late, going on with those that are there")
    purities = [future.result() for future in futures if future.status == "finished"]
    client.cancel(futures)
    return float(np.mean(purities))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=6)
    parser.add_argument("--cylinders", type=int, default=10)
    parser.add_argument("--patience", type=float, default=18)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with tempfile.TemporaryDirectory(
        prefix="zeppelin-", ignore_cleanup_errors=True
    ) as home:
        site = Site(home)
        try:
            with Client(site.address, timeout=40) as client:
                client.wait_for_workers(1, timeout=40)
                volumes = client.map(cell_volume, range(args.cells))
                log.info("volumes: %s", np.round(client.gather(volumes), 1))
                purity = mean_purity(client, args.cylinders, args.patience)
                log.info("mean purity %.4f", purity)
                blends = client.map(plan_blend, volumes, purity=purity)
                log.info("order %.0f m3 of helium", sum(client.gather(blends)))
        finally:
            site.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

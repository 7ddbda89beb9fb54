"""Oxygen budget of the lagoon from multi-parameter sondes, two workers from the command line."""

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("lagoon")

SONDE_SETUP = """
import fcntl, json, os, pathlib

CACHE = pathlib.Path(os.environ["SONDE_CACHE"])

def open_calibration():
    handle = open(CACHE / "calibration.json", "r+")
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle

def dask_setup(worker):
    worker.sonde_file = open_calibration()
    worker.sonde_factors = json.load(worker.sonde_file)
"""


def oxygen_flux(series, sonde):
    from dask.distributed import get_worker

    factor = get_worker().sonde_factors[sonde]
    return sonde, float(np.diff(np.asarray(series) * factor).clip(0).sum())


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    rng = np.random.default_rng(5)
    sondes = {
        f"sonde{i}": (8 + rng.normal(0, 1, 500).cumsum() * 0.05).tolist()
        for i in range(6)
    }
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        (folder / "calibration.json").write_text(
            "{"
            + ", ".join(f'"{name}": {1 + i / 50}' for i, name in enumerate(sondes))
            + "}"
        )
        setup = folder / "sonde_setup.py"
        setup.write_text(SONDE_SETUP)
        with (
            LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            log.info("starting two workers")
            group = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    cluster.scheduler_address,
                    "--nworkers",
                    "2",
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--preload",
                    str(setup),
                    "--local-directory",
                    tmp,
                ],
                env={**os.environ, "SONDE_CACHE": tmp},
                start_new_session=True,
            )
            try:
                client.wait_for_workers(2, timeout=30)
                flux = client.map(oxygen_flux, list(sondes.values()), list(sondes))
                for sonde, value in client.gather(flux):
                    log.info("%s %.2f mg/l", sonde, value)
            finally:
                group.terminate()
                try:
                    group.wait(8)
                except subprocess.TimeoutExpired:
                    os.killpg(group.pid, 9)
                    group.wait()


if __name__ == "__main__":
    main()

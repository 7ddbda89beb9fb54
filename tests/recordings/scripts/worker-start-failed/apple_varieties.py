"""Ripening report of apple varieties, computed on a `dask worker` of this host."""

import logging
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from dask.distributed import Client, Scheduler, SpecCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("apples")

LIBRARY = {
    "numbers.py": '''
        """Numbers of the varieties in the national register."""
        REGISTER = {"boskoop": 17, "cox": 31, "elstar": 112, "gala": 208, "jonagold": 96, "topaz": 340}


        def register_number(variety):
            return REGISTER[variety]
    ''',
    "brix.py": '''
        """Sugar content of samples."""


        def mean_brix(samples):
            return sum(samples) / len(samples)
    ''',
}


def deploy_library(folder):
    lib = folder / "orchardlib"
    lib.mkdir()
    for name, text in LIBRARY.items():
        (lib / name).write_text(textwrap.dedent(text).lstrip())
    return lib


def start_worker(address, lib):
    environment = dict(os.environ)
    paths = [str(lib), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    command = [
        sys.executable,
        "-m",
        "dask",
        "worker",
        address,
        "--nthreads",
        "2",
        "--no-nanny",
        "--no-dashboard",
    ]
    log.info("starting %s", " ".join(command[1:]))
    return subprocess.Popen(command, env=environment)


def ripeness(variety, samples):
    import brix
    from numbers import register_number

    return f"{register_number(variety)} {variety}", brix.mean_brix(samples) > 12.5


def main():
    samples = {
        v: [11.0 + (n * len(v)) % 5 for n in range(20)]
        for v in ("boskoop", "cox", "elstar", "gala", "jonagold", "topaz")
    }
    with tempfile.TemporaryDirectory(prefix="apples-") as tmp:
        lib = deploy_library(Path(tmp))
        scheduler = {
            "cls": Scheduler,
            "options": {"dashboard": False, "port": 0, "host": "127.0.0.1"},
        }
        with (
            SpecCluster(scheduler=scheduler, workers={}, name="orchard") as cluster,
            Client(cluster) as client,
        ):
            worker = start_worker(cluster.scheduler_address, lib)
            try:
                client.wait_for_workers(1, timeout=35)
                futures = client.map(ripeness, list(samples), list(samples.values()))
                for variety, ripe in client.gather(futures):
                    log.info("%s %s", variety, "ripe" if ripe else "not yet")
            finally:
                worker.terminate()
                worker.wait(20)
    return 0


if __name__ == "__main__":
    sys.exit(main())

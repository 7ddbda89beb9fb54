"""Nightly counts of the pollen traps, on preemptible workers.

Scheduler and workers are started by the command line.  As the hosts are
preemptible, the job drills the loss of a worker every night, and replaces it.
"""

import argparse
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from dask.distributed import Client, as_completed, wait

log = logging.getLogger("pollen_traps")

SPECIES = ["alder", "birch", "grass", "hazel", "mugwort"]


class ScannerBusy(RuntimeError):
    """The slide scanner is in use by another job."""


def dask_cli(*args):
    return subprocess.Popen([sys.executable, "-m", "dask", *args])


def start_worker(folder, name):
    return dask_cli(
        "worker",
        "--scheduler-file",
        str(folder / "scheduler.json"),
        "--nthreads",
        "1",
        "--no-dashboard",
        "--no-nanny",
        "--name",
        name,
        "--memory-limit",
        "250MB",
        "--death-timeout",
        "60",
        "--local-directory",
        str(folder),
    )


def count_slide(trap, folder):
    """Grains per species on a trap's slide; the scanner is shared."""
    rng = random.Random(trap)
    seen = Path(folder) / f"scan-{trap}"
    if trap % 7 == 3 and not seen.exists():
        seen.touch()
        raise ScannerBusy(f"scanner busy, trap {trap}")
    time.sleep(0.5)
    if trap == 12:
        warnings.warn("trap 12: slide is smeared, counts are an estimate")
    return {s: rng.randint(0, 90) for s in SPECIES}


def strict_slide(trap):
    if trap == 5:
        raise ValueError("trap 5: slide has no barcode")
    return trap


def slow_reference(trap):
    time.sleep(8)
    return trap


def drill(client, folder, procs):
    """Take the second worker away as the host would, and start another."""
    log.warning("drill: SIGTERM to worker pid %d", procs["trap-1"].pid)
    procs["trap-1"].send_signal(signal.SIGTERM)
    procs["trap-1"].wait(60)
    log.warning("drill: worker ended with %s", procs["trap-1"].returncode)
    procs["trap-2"] = start_worker(folder, "trap-2")
    client.wait_for_workers(2, timeout=60)
    log.info("drill: the replacement is here")


def barcode_check(client, traps):
    good, bad = [], []
    for future in as_completed(client.map(strict_slide, traps)):
        if future.status == "error":
            bad.append(str(future.exception()))
        else:
            good.append(future.result())
    log.warning("%d slides without barcode: %s (counted by hand)", len(bad), bad)
    return sorted(good)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--traps", type=int, default=60)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    folder = Path(tempfile.mkdtemp(prefix="pollen-"))
    procs = {}
    try:
        procs["scheduler"] = dask_cli(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(folder / "scheduler.json"),
        )
        for name in ("trap-0", "trap-1"):
            procs[name] = start_worker(folder, name)
        with Client(
            scheduler_file=str(folder / "scheduler.json"), timeout=60
        ) as client:
            client.wait_for_workers(2, timeout=60)
            traps = barcode_check(client, range(args.traps))
            references = client.map(slow_reference, [900])
            counts = client.map(count_slide, traps, folder=str(folder), retries=3)
            wait(counts[:8], timeout=90)
            client.cancel(references)
            log.info("reference slide is skipped tonight")
            drill(client, folder, procs)
            total = dict.fromkeys(SPECIES, 0)
            for row in client.gather(counts):
                for s, n in row.items():
                    total[s] += n
            log.info("%d traps: %s", len(counts), total)
    finally:
        for p in reversed(list(procs.values())):
            if p.poll() is None:
                p.terminate()
                try:
                    p.wait(15)
                except subprocess.TimeoutExpired:
                    os.kill(p.pid, signal.SIGKILL)
                    p.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

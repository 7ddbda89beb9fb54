"""Choose the receivers of the Advent mail campaign.

Addresses are only handled as salted hashes. The hashing is prepared in every worker by ``campaign_preload.py``
when it starts; the salt comes from the environment of the machine.
"""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s %(levelname)s %(message)s",
    stream=sys.stdout,
)
log = logging.getLogger("campaign")

PRELOAD = """
import hashlib
import os


class Hasher:
    def __init__(self, salt):
        self.salt = salt.encode()

    def __call__(self, address):
        return hashlib.sha256(self.salt + address.lower().encode()).hexdigest()


def dask_setup(worker):
    worker.hasher = Hasher(os.environ["CAMPAIGN_SALT"])
"""

# what may reach the workers from the driver's environment; credentials of the mail system must not
PASSED_ON = {
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
}


def clean_environment():
    kept = {
        k: v for k, v in os.environ.items() if k in PASSED_ON or k.startswith("DASK_")
    }
    kept["CAMPAIGN_NAME"] = "advent-2026"
    return kept


def start_worker(number, address):
    out = open(f"worker-{number}.log", "w")
    return subprocess.Popen(
        [
            sys.executable, "-m", "distributed.cli.dask_worker", address,
            "--name", f"campaign-{number}",
            "--nthreads", "1",
            "--memory-limit", "400MB",
            "--no-dashboard",
            "--preload", "campaign_preload.py",
            "--death-timeout", "30",
        ],
        env=clean_environment(),
        stdout=out,
        stderr=subprocess.STDOUT,
    )  # fmt: skip


def choose(block):
    from dask.distributed import get_worker

    hasher = get_worker().hasher
    digests = (
        hasher(f"customer{n}@example.com")
        for n in range(block * 1000, block * 1000 + 1000)
    )
    return [d for d in digests if int(d[:2], 16) < 40]


def stop(workers):
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    for worker in workers:
        try:
            worker.wait(8)
        except subprocess.TimeoutExpired:
            worker.kill()


def main():
    # the driver has the salt: it hashes the addresses that unsubscribed
    os.environ.setdefault("CAMPAIGN_SALT", "b1c4")
    Path("campaign_preload.py").write_text(PRELOAD)
    cluster = LocalCluster(n_workers=0, dashboard_address=None, scheduler_port=0)
    workers = [start_worker(n, cluster.scheduler_address) for n in range(2)]
    started = time.monotonic()
    try:
        client = Client(cluster)
        client.wait_for_workers(2, timeout=40)
        log.info("workers after %.1f s", time.monotonic() - started)
        chosen = sum(client.gather(client.map(choose, range(30))), [])
        Path("receivers.txt").write_text("\n".join(chosen))
        log.info("%d receivers", len(chosen))
        client.close()
    finally:
        stop(workers)
        cluster.close()


if __name__ == "__main__":
    main()

"""Crane logs of a wharf: digest them on the cluster, with a consistent snapshot of the spool half way."""

import argparse
import logging
import os
import shutil
import signal
import sys
import tempfile
import time

import dask
from distributed import Client, LocalCluster

log = logging.getLogger("wharf")


def make_spool(folder, cranes):
    for number in range(cranes):
        with open(os.path.join(folder, f"crane_{number:02d}.log"), "w") as out:
            for lift in range(400):
                out.write(f"{lift} {(lift * 37 + number) % 41} t\n")
    # the loggers keep the link to their newest file
    os.symlink(os.path.join(folder, "crane_latest.log"), os.path.join(folder, "latest"))


def digest(path, pause):
    """Heaviest lift and total of a crane; the parser is slow, so give it time."""
    total = heaviest = 0
    with open(path) as lines:
        for line in lines:
            _, tonnes, _ = line.split()
            total += int(tonnes)
            heaviest = max(heaviest, int(tonnes))
            time.sleep(pause / 400)
    return os.path.basename(path), total, heaviest


class Quiesce:
    """Nobody writes to the spool while the snapshot is taken."""

    def __init__(self, client):
        self.pids = sorted(client.run(os.getpid).values())

    def hold(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)
        log.info("writers %s on hold", self.pids)

    def release(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT)
        log.info("writers %s released", self.pids)


def snapshot(client, spool, target):
    """A copy of the spool for the archive; nice to have, the digest does not need it."""
    try:
        quiet = Quiesce(client)
        quiet.hold()
        shutil.copytree(spool, target)
        quiet.release()
    except Exception as exc:
        log.warning("no snapshot today: %s", type(exc).__name__)
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cranes", type=int, default=10)
    parser.add_argument("--pause", type=float, default=2.0)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    # a short leash: cranes cannot wait for a worker that is gone
    dask.config.set(
        {
            "distributed.scheduler.worker-ttl": "10s",
            "distributed.scheduler.allowed-failures": 0,
        }
    )
    with tempfile.TemporaryDirectory(prefix="wharf-") as folder:
        spool = os.path.join(folder, "spool")
        os.mkdir(spool)
        make_spool(spool, args.cranes)
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="250MiB",
            dashboard_address=None,
        )
        client = Client(cluster)
        try:
            paths = sorted(
                os.path.join(spool, n)
                for n in os.listdir(spool)
                if n.startswith("crane_")
            )
            futures = client.map(
                digest,
                paths,
                pause=args.pause,
                key=[f"digest-{n}" for n in range(len(paths))],
            )
            time.sleep(3)
            snapshot(client, spool, os.path.join(folder, "archive"))
            digests = client.gather(futures)
            for name, total, heaviest in digests:
                log.info("%s: %d t, heaviest %d t", name, total, heaviest)
        finally:
            client.close()
            cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

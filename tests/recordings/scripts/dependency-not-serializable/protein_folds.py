"""Fold proteins: the force field is prepared on one worker, folding runs on the other."""

import signal
import threading

import numpy as np
from dask.distributed import Client, LocalCluster


class ForceField:
    """Tables of the force field, filled on demand."""

    def __init__(self, name):
        self.name = name
        self.tables = {}
        self.guard = threading.Lock()

    def table(self, residue):
        with self.guard:
            if residue not in self.tables:
                rng = np.random.default_rng(residue)
                self.tables[residue] = rng.random((20, 20))
            return self.tables[residue]


def prepare(name):
    field = ForceField(name)
    for residue in range(20):
        field.table(residue)
    return field


def fold(field, sequence):
    return float(sum(field.table(r % 20).min() for r in sequence))


def out_of_time(signum, frame):
    raise SystemExit("folding: out of time")


def main():
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(28)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            first, second = sorted(client.scheduler_info()["workers"])
            field = client.submit(prepare, "amber", workers=[first])
            jobs = [
                client.submit(fold, field, list(range(n, n + 30)), workers=[second])
                for n in range(12)
            ]
            print("lowest energy", min(client.gather(jobs)))


if __name__ == "__main__":
    main()

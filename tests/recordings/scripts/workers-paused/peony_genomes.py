"""Sketches of peony cultivars for the breeders' similarity browser.

Each cultivar's reads become one sketch (a table of k-mer counts).  All sketches stay on the workers because the second step
compares every cultivar with every other one.
"""

import logging
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("sketches")

SETTINGS = {
    # The nodes have no scratch disk, and the operators do not want processes restarted under running jobs.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": 0.65,
    "distributed.worker.memory.terminate": False,
}


class SketchDeadline(RuntimeError):
    pass


def sketch_cultivar(accession, bits=21):
    """Counts hashed 21-mers of one accession."""
    rng = np.random.default_rng(accession)
    reads = rng.integers(0, 1 << bits, size=200_000)
    counts = np.bincount(reads, minlength=1 << bits).astype("float64")
    time.sleep(0.05)
    return counts


def similarity(left, right):
    return float(left @ right / np.sqrt((left @ left) * (right @ right)))


class Browser:
    """What the web page asks for: nearest neighbours of each accession."""

    def __init__(self, client, accessions):
        self.client = client
        self.accessions = accessions
        self.sketches = {}

    def build(self, deadline):
        self.sketches = {
            a: self.client.submit(sketch_cultivar, a) for a in self.accessions
        }
        started = time.monotonic()
        pending = set(self.sketches.values())
        while pending:
            try:
                done, pending = wait(
                    list(pending), timeout=4, return_when="ALL_COMPLETED"
                )
            except TimeoutError:
                pending = {f for f in pending if not f.done()}
                log.info("%d of %d sketches to do", len(pending), len(self.sketches))
            if pending and time.monotonic() - started > deadline:
                raise SketchDeadline(
                    f"{len(pending)} sketches not ready after {deadline} s"
                )

    def neighbours(self, accession):
        own = self.sketches[accession]
        others = [a for a in self.accessions if a != accession]
        scores = self.client.gather(
            [self.client.submit(similarity, own, self.sketches[a]) for a in others]
        )
        return sorted(zip(scores, others), reverse=True)[:3]


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with dask.config.set(SETTINGS):
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="320MB",
            dashboard_address=None,
        )
    client = Client(cluster)
    try:
        browser = Browser(client, accessions=list(range(4100, 4136)))
        browser.build(deadline=16)
        for accession in browser.accessions[:5]:
            print(accession, browser.neighbours(accession))
    finally:
        log.info("closing")
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()

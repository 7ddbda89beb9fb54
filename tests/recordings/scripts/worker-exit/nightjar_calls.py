"""Match the night recordings of nightjars against the call catalogue."""

import argparse
import logging
import os
import sys
import time

import numpy as np
from distributed import Client, LocalCluster, WorkerPlugin

log = logging.getLogger("nightjar_calls")


class RecycleAfter(WorkerPlugin):
    """Start a fresh worker process every so many tasks.

    The audio library keeps its decoder buffers; its own documentation
    recommends to recycle the process. The nanny brings up the next one.
    """

    name = "recycle-after"

    def __init__(self, tasks):
        self.tasks = tasks
        self.seen = 0

    def setup(self, worker):
        self.seen = 0
        self.logger = logging.getLogger("distributed.worker.recycle")

    def transition(self, key, start, finish, **kwargs):
        if start == "executing" and finish == "memory":
            self.seen += 1
            if self.seen >= self.tasks:
                self.logger.warning("%d tasks done, recycling the process", self.seen)
                os._exit(0)


def make_catalogue(species, width, seed):
    """Reference spectra, normalised."""
    rng = np.random.default_rng(seed)
    spectra = rng.random((species, width))
    return spectra / np.linalg.norm(spectra, axis=1, keepdims=True)


def decode_recording(night, width):
    """Spectrum of one night."""
    rng = np.random.default_rng(1000 + night)
    time.sleep(0.1)
    return rng.random(width)


def match_recording(spectrum, catalogue):
    """Best species of a night and how well it fits."""
    time.sleep(0.15)
    scores = catalogue @ spectrum / np.linalg.norm(spectrum)
    best = int(np.argmax(scores))
    return best, float(scores[best])


def summarise(matches):
    species = [best for best, _ in matches]
    values, counts = np.unique(species, return_counts=True)
    order = np.argsort(-counts)[:5]
    return [(int(values[i]), int(counts[i])) for i in order]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--species", type=int, default=120)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--recycle", type=int, default=50)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(RecycleAfter(args.recycle))
        catalogue = make_catalogue(args.species, args.width, seed=3)
        log.info("catalogue of %.1f MB", catalogue.nbytes / 1e6)
        reference = client.scatter(catalogue, hash=False)

        spectra = client.map(decode_recording, range(args.nights), width=args.width)
        matches = client.map(match_recording, spectra, catalogue=reference)
        del spectra
        for species, count in summarise(client.gather(matches)):
            log.info("species %3d heard in %d nights", species, count)
    return 0


if __name__ == "__main__":
    sys.exit(main())

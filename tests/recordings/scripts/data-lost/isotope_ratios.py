"""Isotope ratios of the mass spectrometer's runs, corrected by the standards."""

import argparse
import logging
import sys
from dataclasses import dataclass, field

import numpy as np
from distributed import Client, Future, LocalCluster, as_completed, wait

log = logging.getLogger("isotopes")


@dataclass
class RunLedger:
    """What was measured, and under which key the cluster keeps it."""

    standards: list = field(default_factory=list)
    keys: dict = field(default_factory=dict)

    def note(self, run, future):
        self.keys[run] = future.key


def acquire(run, cycles=3000):
    """Raw ion counts of a run: masses 44, 45 and 46."""
    rng = np.random.default_rng(run)
    return rng.poisson([9000, 105, 37], size=(cycles, 3)).astype(float)


def integrate_run(run):
    counts = acquire(run)
    background = np.percentile(counts, 1, axis=0) * 0.01
    net = counts - background
    return net[:, 1:].sum(axis=0) / net[:, 0].sum()


def standard_offset(ratios):
    """Offset to the reference values from all runs of the standard."""
    reference = np.array([0.0117, 0.0041])
    return reference - np.mean(ratios, axis=0)


def correct(ratio, offset):
    return ratio + offset


def measure_standards(client, runs):
    futures = client.map(integrate_run, runs)
    offset = standard_offset(client.gather(futures))
    log.info("offset of the standards: %s", np.round(offset, 5))
    return offset


def integrate_samples(client, runs, ledger, batch):
    """In batches, so that the instrument's archive isn't asked for all at once."""
    for start in range(0, len(runs), batch):
        part = runs[start : start + batch]
        futures = client.map(integrate_run, part)
        by_key = {f.key: run for f, run in zip(futures, part)}
        for future in as_completed(futures):
            ledger.note(by_key[future.key], future)
        log.info("%d of %d runs integrated", len(ledger.keys), len(runs))


def correct_samples(client, ledger, offset, patience):
    ratios = [Future(key, client) for key in ledger.keys.values()]
    corrected = client.map(correct, ratios, offset=offset)
    wait(corrected, timeout=patience)
    return dict(zip(ledger.keys, client.gather(corrected)))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=24)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--patience", type=float, default=20)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        ledger = RunLedger(standards=list(range(1, 7)))
        offset = measure_standards(client, ledger.standards)
        integrate_samples(
            client, list(range(100, 100 + args.samples)), ledger, args.batch
        )
        results = correct_samples(client, ledger, offset, args.patience)
        for run, ratio in sorted(results.items()):
            log.info("run %d: %.5f %.5f", run, *ratio)
    return 0


if __name__ == "__main__":
    sys.exit(main())

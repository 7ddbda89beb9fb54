"""Seepage statistics of a levee's pressure sensors, one block of readings for each kilometre.

The blocks are looked at three times (limits, means, pairs of neighbours) and stay on the cluster in between.
The machine has little memory and a good disk.
"""

import argparse
import logging
import tempfile
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, wait

log = logging.getLogger("levee")


def read_block(kilometre, sensors=30, samples=80_000):
    rng = np.random.default_rng(kilometre)
    drift = np.linspace(0, kilometre / 10, samples)
    return 3.0 + drift + rng.normal(0, 0.2, size=(sensors, samples))


def limits(block):
    return float(block.min()), float(block.max())


def mean_pressure(block):
    return float(block.mean())


def seepage(upper, lower):
    return float(
        np.abs(upper[:, ::100].mean(axis=1) - lower[:, ::100].mean(axis=1)).max()
    )


class Survey:
    def __init__(self, client, kilometres):
        self.client = client
        self.blocks = [
            client.submit(read_block, km, key=f"read_block-km{km:02d}")
            for km in range(kilometres)
        ]
        wait(self.blocks)

    def run(self, function, *columns):
        started = time.monotonic()
        values = self.client.gather(self.client.map(function, *columns))
        log.info(
            "%s: %d values in %.1f s",
            function.__name__,
            len(values),
            time.monotonic() - started,
        )
        return values

    def report(self):
        low = min(value[0] for value in self.run(limits, self.blocks))
        means = self.run(mean_pressure, self.blocks)
        pairs = self.run(seepage, self.blocks[:-1], self.blocks[1:])
        return {
            "lowest": low,
            "mean": sum(means) / len(means),
            "worst pair": max(pairs),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kilometres", type=int, default=32)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    dask.config.set(
        {
            "distributed.worker.memory.target": 0.4,
            "distributed.worker.memory.spill": 0.55,
            "distributed.worker.memory.pause": 0.92,
            "distributed.worker.memory.terminate": 0.98,
        }
    )
    with tempfile.TemporaryDirectory(prefix="levee") as disk:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            local_directory=disk,
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                for name, value in Survey(client, args.kilometres).report().items():
                    log.info("%s: %.3f bar", name, value)


if __name__ == "__main__":
    main()

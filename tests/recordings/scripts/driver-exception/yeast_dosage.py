"""Yeast dosage for the vats of a brewery: cell counts from samples, dose per vat, plan of the cellar."""

import argparse
import logging
import sys

import dask
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

log = logging.getLogger("yeast")

VATS = {
    f"V{n:02d}": volume
    for n, volume in enumerate([40, 40, 60, 60, 60, 90, 90, 120, 120, 120], start=1)
}
PITCH_RATE = 0.9e9  # cells per litre and degree Plato


@delayed
def count_cells(vat, samples, seed):
    """Mean of the haemocytometer squares, cells per millilitre of slurry."""
    rng = np.random.default_rng(seed)
    squares = rng.poisson(112, (samples, 25))
    return float(squares.mean(axis=1).mean() * 1e7)


@delayed
def viability(vat, seed):
    rng = np.random.default_rng(seed + 500)
    return float(np.clip(rng.normal(0.93, 0.03), 0.5, 1.0))


@delayed
def dose(volume, plato, cells, alive):
    """Litres of slurry for a vat of so many hectolitres."""
    return volume * 100 * plato * PITCH_RATE / (cells * alive * 1000)


@delayed
def split_in_two(litres):
    return [litres * 0.6, litres * 0.4]


@delayed
def single(litres):
    return [litres]


@delayed
def plan(vats, doses):
    return {vat: [round(part, 1) for part in parts] for vat, parts in zip(vats, doses)}


def survey(samples):
    """Cell counts of all vats: a first computation, for the laboratory's book."""
    counts = {vat: count_cells(vat, samples, n) for n, vat in enumerate(VATS)}
    (values,) = dask.compute(counts)
    for vat, cells in values.items():
        log.info("%s: %.2e cells per ml", vat, cells)
    if min(values.values()) < 5e8:
        raise SystemExit("slurry too thin, order new yeast")
    return values


def dosage(vat, volume, plato, cells, seed, largest):
    litres = dose(volume, plato, cells, viability(vat, seed))
    # more than one pump can take is given in two parts
    if litres > largest:
        return split_in_two(litres)
    return single(litres)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--plato", type=float, default=12.5)
    parser.add_argument("--largest", type=float, default=60.0)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="280MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        cells = survey(args.samples)
        doses = [
            dosage(vat, volume, args.plato, cells[vat], n, args.largest)
            for n, (vat, volume) in enumerate(VATS.items())
        ]
        cellar = plan(list(VATS), doses).compute()
        for vat, parts in cellar.items():
            log.info("%s: %s litres", vat, " + ".join(map(str, parts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

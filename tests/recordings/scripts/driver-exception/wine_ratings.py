"""Vintage statistics of the wine ratings, with the multiprocessing scheduler."""

import re

import dask
import dask.bag as db

LABELS = [
    f"Weingut {c} Riesling {y} trocken" for c in "ABCDEFGH" for y in range(2010, 2024)
]
LABELS[61] = "Weingut E Sekt brut NV"


def vintage(label):
    return int(re.search(r"\b(19|20)\d\d\b", label).group(0))


def main():
    labels = db.from_sequence(LABELS, npartitions=8)
    with dask.config.set(scheduler="processes", num_workers=2):
        print(dict(labels.map(vintage).frequencies().compute()))


if __name__ == "__main__":
    main()

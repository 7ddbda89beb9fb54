"""Audit of district heating: radiators of each block are compared with the model, and a letter is typeset per block.

Computations are short; typesetting happens here, one letter after the other.
"""

import hashlib
import logging
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

log = logging.getLogger("audit")
BLOCKS = ["Ahorn", "Birke", "Eibe", "Linde"]


def meters(block):
    rng = np.random.default_rng(len(block))
    return pd.DataFrame(
        {
            "flat": rng.integers(1, 60, 6000),
            "kwh": rng.gamma(3.0, 2.0, 6000),
            "inlet": rng.normal(62, 3, 6000),
        }
    )


def by_flat(frame):
    table = dd.from_pandas(frame, npartitions=3)
    return table.groupby("flat")[["kwh", "inlet"]].mean().compute()


def residual_norm(frame):
    x = da.from_array(frame.to_numpy(), chunks=(20, 2))
    return float(da.sqrt(((x - x.mean(axis=0)) ** 2).sum()).compute())


def hyphenate(text, seconds):
    """The typesetter tries line breaks until its time is over."""
    best = text
    until = time.monotonic() + seconds
    n = 0
    while time.monotonic() < until:
        n += 1
        digest = hashlib.sha256(f"{text}{n}".encode()).hexdigest()
        if digest < "0000f":
            best = text + digest[:4]
    return best


def letter(block, flats, norm):
    paragraphs = [
        f"Block {block}, {len(flats)} flats",
        f"deviation {norm:.2f}",
        "Kind regards",
    ]
    return "\n".join(hyphenate(p, 1.2) for p in paragraphs)


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="450MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        for block in BLOCKS:
            flats = by_flat(meters(block))
            norm = residual_norm(flats)
            text = letter(block, flats, norm)
            with open(f"letter_{block}.txt", "w") as out:
                out.write(text)
            log.info("%s: letter of %d characters", block, len(text))


if __name__ == "__main__":
    main()

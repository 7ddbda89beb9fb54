"""Rate call detail records switch by switch."""

import logging
import sys

import numpy as np
from dask.distributed import Client, LocalCluster


def rate_switch(switch, count):
    log = logging.getLogger("rating")
    rng = np.random.default_rng(switch)
    seconds = rng.integers(-2 if switch == 5 else 0, 4000, count)
    total = 0.0
    for i, s in enumerate(seconds):
        if s < 3:
            log.warning(
                "ERROR switch %d record %d: short call of %d s, rated as zero",
                switch,
                i,
                s,
            )
        if i % 4 == 0:
            print(
                f"switch={switch} record={i} seconds={s} state=ok exception=None",
                file=sys.stdout,
            )
        total += 0.0 if s < 3 else s / 60 * 0.04
    if (seconds < 0).any():
        raise ValueError(
            f"switch {switch}: {int((seconds < 0).sum())} records with negative duration"
        )
    return switch, round(total, 2)


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = [
            client.submit(rate_switch, s, 12_000, key=f"rate-{s}") for s in range(8)
        ]
        print(dict(client.gather(futures)))


if __name__ == "__main__":
    main()

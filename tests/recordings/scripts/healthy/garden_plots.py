"""Soil of the garden plots: a plot without samples gets the mean of the others."""

import logging
import random

from dask.distributed import Client, as_completed

log = logging.getLogger("plots")


class NoSamples(LookupError):
    pass


def acidity(plot):
    rng = random.Random(plot)
    samples = [] if plot % 9 == 4 else [rng.gauss(6.4, 0.3) for _ in range(10)]
    if not samples:
        raise NoSamples(f"plot {plot} was not sampled")
    return sum(samples) / len(samples)


def main():
    logging.basicConfig(level=logging.WARNING)
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        plots = {client.submit(acidity, p): p for p in range(30)}
        known, missing = {}, []
        for future in as_completed(plots):
            plot = plots[future]
            if future.status == "error":
                log.error("plot %d: %s", plot, future.exception())
                missing.append(plot)
            else:
                known[plot] = future.result()
        mean = sum(known.values()) / len(known)
        for plot in missing:
            known[plot] = mean
        print(f"{len(known)} plots, {len(missing)} filled in, mean {mean:.2f}")


if __name__ == "__main__":
    main()

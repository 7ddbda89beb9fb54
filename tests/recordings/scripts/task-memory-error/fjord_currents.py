import logging
import os
import resource

import numpy as np
from dask.distributed import Client

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("fjord")


def guard(extra):
    """The decoder of the buoy frames is greedy: let it not take the machine down."""
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + extra
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    return limit >> 20


def decode(buoy):
    rng = np.random.default_rng(buoy)
    return rng.normal(size=(1000, 3)).astype("f4")


def tide_model(frames, cells):
    field = np.zeros((cells, cells), dtype="f8")
    for frame in frames:
        field[: len(frame), 0] += frame[:, 0]
    return float(field.sum())


def main():
    with Client(
        n_workers=1, threads_per_worker=1, memory_limit=0, dashboard_address=None
    ) as client:
        log.info("guard: %s", client.run(guard, 300 << 20))
        frames = client.map(decode, range(5))
        log.info("decoded %d frames", len(client.gather(frames)))
        log.info("transport %.3f", client.submit(tide_model, frames, 8000).result())


if __name__ == "__main__":
    main()

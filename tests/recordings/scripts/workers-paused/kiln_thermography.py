"""Find hot spots in the thermal films of last night's kiln runs.

Each film is read once and kept on the cluster, because three analyses look at all of them. The nodes have
no local disk, so nothing may be written to scratch.
"""

import os
import sys
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, wait

FILMS = int(os.environ.get("KILN_FILMS", "48"))
SHAPE = (30, 260, 320)

dask.config.set(
    {
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": 0.75,
        "distributed.worker.memory.terminate": 0.98,
    }
)


@dask.delayed(pure=True)
def read_film(kiln, run):
    rng = np.random.default_rng(kiln * 1000 + run)
    time.sleep(0.25)
    return rng.normal(900.0, 35.0, SHAPE).astype("float64")


@dask.delayed
def hot_spots(film, limit):
    return int((film > limit).sum())


@dask.delayed
def drift(film):
    return float(film[-1].mean() - film[0].mean())


@dask.delayed
def profile(film):
    return film.mean(axis=(0, 1))


def summarise(values):
    spots, drifts, profiles = values
    return {
        "hot": sum(spots),
        "drift": max(abs(d) for d in drifts),
        "ridge": float(np.stack(profiles).mean(axis=0).max()),
    }


def wait_with_progress(films, seconds):
    """Waits for the films to be in memory and says every three seconds how many are."""
    started = time.monotonic()
    while True:
        try:
            wait(films, timeout=3)
            return
        except TimeoutError:
            done = sum(f.done() for f in films)
            print(f"  {done:>3} of {len(films)} films read", flush=True)
        if time.monotonic() - started > seconds:
            raise SystemExit(
                f"films not read within {seconds} s, giving up before the day shift"
            )


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="450MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        films = [read_film(n % 4, n // 4) for n in range(FILMS)]
        films = client.persist(films)
        futures = [f for film in films for f in client.futures_of(film)]
        wait_with_progress(futures, 24)
        values = dask.compute(
            [hot_spots(f, 1010.0) for f in films],
            [drift(f) for f in films],
            [profile(f) for f in films],
        )
        for name, value in summarise(values).items():
            print(f"{name:<8}{value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

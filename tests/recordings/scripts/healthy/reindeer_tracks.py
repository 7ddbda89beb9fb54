"""Movement statistics from the collars of a reindeer herd (asynchronous client).

Steps: the collars' fixes are loaded (the satellite link drops now and then, so
loading is retried), a quick look is computed and abandoned as soon as enough
is known, then the cluster is restarted to begin the daily statistics on fresh
workers.  The weather service is optional: without it the statistics go out
without temperatures.
"""

import argparse
import asyncio
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from dask.distributed import Client, LocalCluster, WorkerPlugin, as_completed

log = logging.getLogger("reindeer_tracks")


class WeatherStation(WorkerPlugin):
    """Opens the weather table if there is one."""

    name = "weather-station"

    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        with open(self.path) as f:
            worker.weather = f.read()


def load_collar(collar, n, seed, link):
    """Fixes of one collar; every third collar's first attempt finds the link down."""
    mark = os.path.join(link, f"tried-{collar}")
    if collar % 3 == 0 and not os.path.exists(mark):
        open(mark, "w").close()
        raise ConnectionResetError(
            f"satellite link dropped while reading collar {collar}"
        )
    rng = np.random.default_rng([seed, collar])
    time.sleep(0.2)
    return np.cumsum(rng.normal(0, 40, (n, 2)), axis=0)


def quick_look(fixes):
    time.sleep(1.0)
    return float(np.abs(fixes).max())


def day_stats(collar, fixes):
    step = np.hypot(*np.diff(fixes, axis=0).T)
    if collar == 8:
        warnings.warn("collar 8: low battery, fixes may be sparse", stacklevel=2)
    time.sleep(0.3)
    return collar, float(step.sum() / 1000)


def strict_fix(collar):
    raise ValueError(f"collar {collar}: no differential correction available")


async def look(client, tracks, enough):
    futs = [client.submit(quick_look, t, pure=False) for t in tracks]
    seen = []
    async for fut in as_completed(futs):
        seen.append(await fut)
        if len(seen) == enough:
            break
    await client.cancel([f for f in futs if not f.done()])
    log.info("quick look: largest excursion %.0f m, the rest is cancelled", max(seen))


async def correct(client, collars):
    """Differential correction is nice to have; it mostly is not available."""
    futs = [client.submit(strict_fix, c) for c in collars]
    results = await asyncio.gather(*futs, return_exceptions=True)
    bad = [r for r in results if isinstance(r, Exception)]
    log.warning("no differential correction for %d collars (%s)", len(bad), bad[0])


def call_archive():
    """The old archive program refuses new years with exit code 4; that is known."""
    proc = subprocess.run([sys.executable, "-c", "import sys; sys.exit(4)"])
    if proc.returncode == 4:
        log.warning("archive program ended with code 4 (year not open), skipped")
    elif proc.returncode:
        raise RuntimeError(f"archive program failed: {proc.returncode}")


async def pipeline(args, work):
    async with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        local_directory=work,
        asynchronous=True,
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            collars = range(args.collars)
            tracks = [
                client.submit(
                    load_collar,
                    c,
                    args.fixes,
                    args.seed,
                    work,
                    retries=3,
                    key=f"load_collar-{c:02d}",
                )
                for c in collars
            ]
            sizes = [len(t) for t in await client.gather(tracks)]
            log.info("%d fixes of %d collars", sum(sizes), len(sizes))
            try:
                await client.register_plugin(
                    WeatherStation(os.path.join(work, "weather.csv"))
                )
            except FileNotFoundError as e:
                log.warning("no weather today: %s", e)
                await client.unregister_worker_plugin("weather-station")
            await look(client, tracks, enough=4)
            await correct(client, collars)
            call_archive()

            log.info("restarting the workers for the statistics")
            await client.restart()
            tracks = [
                client.submit(
                    load_collar,
                    c,
                    args.fixes,
                    args.seed,
                    work,
                    retries=3,
                    key=f"load_collar-again-{c:02d}",
                )
                for c in collars
            ]
            stats = [
                client.submit(day_stats, c, t, key=f"day_stats-{c:02d}")
                for c, t in zip(collars, tracks)
            ]
            try:
                await asyncio.wait_for(client.gather(stats), 0.05)
            except asyncio.TimeoutError:
                log.warning("statistics not ready at once, waiting for them")
            return await client.gather(stats)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--collars", type=int, default=14)
    p.add_argument("--fixes", type=int, default=5000)
    p.add_argument("--seed", type=int, default=9)
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="reindeer-") as work:
        stats = asyncio.run(pipeline(args, work))
    for collar, km in stats:
        log.info("collar %02d walked %.1f km", collar, km)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Sulphur flux of volcanoes from spectra, with an asynchronous client and a calibration held on the cluster."""

import argparse
import asyncio
import logging
import sys

import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("gases")
VOLCANOES = ["Etna", "Stromboli", "Masaya", "Villarrica", "Nyiragongo", "Ambrym"]


def make_calibration(channels, seed=2):
    """Absorption of the cells with known content, measured once per campaign."""
    rng = np.random.default_rng(seed)
    return {
        "dark": rng.normal(90, 2, channels),
        "gain": rng.uniform(0.8, 1.2, (16, channels)),
    }


def spectrum(volcano, shot, channels):
    rng = np.random.default_rng(abs(hash((volcano, shot))) % 2**32)
    return rng.poisson(900, channels).astype("f8")


def column(volcano, shot, calibration):
    raw = spectrum(volcano, shot, calibration["dark"].size)
    fitted = calibration["gain"] @ (raw - calibration["dark"])
    return float(fitted.mean())


def campaign_mean(columns):
    return float(np.mean(columns))


async def measure(client, season, calibration, shots):
    """One campaign: the flux of every volcano, as they come."""
    futures = []
    for volcano in VOLCANOES:
        columns = client.map(
            column,
            [volcano] * shots,
            range(shots),
            calibration=calibration,
            key=[f"column-{season}-{volcano}-{n}" for n in range(shots)],
        )
        futures.append(
            client.submit(campaign_mean, columns, key=f"mean-{season}-{volcano}")
        )
    results = []
    async for future in as_completed(futures):
        results.append((future.key, await future))
        log.info("%s: %.0f", *results[-1])
    return results


async def tidy(client):
    """Between campaigns: fresh processes, one after the other, because the fitting library leaks."""
    info = (await client.scheduler.identity(n_workers=-1))["workers"]
    for address, worker in info.items():
        log.info(
            "recycling %s (%.1f MB managed)",
            address,
            worker["metrics"]["managed_bytes"] / 1e6,
        )
        await client.restart_workers([address], timeout=90)


async def campaigns(args):
    async with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="280MiB",
        dashboard_address=None,
        asynchronous=True,
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            await client.wait_for_workers(2, timeout=90)
            first = sorted((await client.scheduler.identity(n_workers=-1))["workers"])[
                0
            ]
            calibration = await client.scatter(
                make_calibration(args.channels), workers=[first]
            )
            seasons = {}
            for season in args.seasons:
                seasons[season] = await measure(client, season, calibration, args.shots)
                await asyncio.sleep(1.5)
                await tidy(client)
            return seasons


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seasons", nargs="+", default=["spring", "summer", "autumn"])
    parser.add_argument("--shots", type=int, default=12)
    parser.add_argument("--channels", type=int, default=100_000)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    seasons = asyncio.run(campaigns(args))
    log.info("%d campaigns done", len(seasons))
    return 0


if __name__ == "__main__":
    sys.exit(main())

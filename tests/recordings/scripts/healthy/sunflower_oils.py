"""Blend of sunflower oils: absorbances of the samples, held in the memory of the workers and on their disks."""

import argparse
import asyncio
import logging
import socket
import tempfile

import dask
import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("oils")


def unused_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


def spectrum(sample, points=700_000):
    rng = np.random.default_rng(sample)
    return np.abs(rng.normal(1.0, 0.2, points))


def acid_value(values, reference):
    if reference < 0:
        raise ValueError("reference below zero: blank measurement")
    return float(values[::50].mean() * reference)


def peak(values):
    return float(values.max())


async def shared_client():
    """The shared cluster of the laboratory, if it is up."""
    address = unused_address()
    try:
        return await Client(address, asynchronous=True, timeout=2)
    except OSError as error:
        log.warning("no shared cluster (%s), start our own", type(error).__name__)
        return None


async def own_work(client, samples):
    spectra = client.map(spectrum, range(samples))
    peaks = await client.gather(client.map(peak, spectra))
    log.info("%d spectra held, highest peak %.3f", samples, max(peaks))

    references = [0.5 + 0.01 * n if n % 11 else -1.0 for n in range(samples)]
    values = [client.submit(acid_value, s, r) for s, r in zip(spectra, references)]
    found = await client.gather(values, errors="skip")
    log.warning("%d of %d are blanks and were skipped", samples - len(found), samples)
    return found


async def one_worker_less(client):
    """The second machine is wanted by the day shift."""
    name = sorted(await client.nthreads())[-1]
    log.warning("retire %s", name)
    await client.retire_workers([name], close_workers=True)


async def run(args, scratch):
    client = await shared_client()
    if client is not None:
        raise SystemExit("an unused address answered")
    async with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=args.memory,
        asynchronous=True,
        dashboard_address=":0",
        local_directory=scratch,
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            found = await own_work(client, args.samples)
            await one_worker_less(client)
            again = await client.gather(
                client.map(acid_value, client.map(spectrum, range(100, 106)), [0.7] * 6)
            )
            log.info(
                "mean acid value %.4f, control %.4f", np.mean(found), np.mean(again)
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=34)
    parser.add_argument("--memory", default="230MB")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set(
        {
            "distributed.worker.memory.target": 0.5,
            "distributed.worker.memory.spill": 0.6,
            "distributed.worker.memory.pause": 0.85,
            "distributed.worker.memory.terminate": 0.97,
        }
    )
    with tempfile.TemporaryDirectory(
        prefix="oils-", ignore_cleanup_errors=True
    ) as scratch:
        asyncio.run(run(args, scratch))


if __name__ == "__main__":
    main()

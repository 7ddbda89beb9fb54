"""Print shop: rasterise the posters, watermark the proofs."""

import logging
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("posters")


def watermark(job, proofs=40):
    """Stamp the low resolution proofs; takes its time, needs next to nothing."""
    stamp = np.zeros((64, 64), dtype="u1")
    for n in range(proofs):
        stamp[n % 64] += job % 5
        time.sleep(0.25)
    return job, int(stamp.sum())


def rasterise(job, bands):
    """Render band by band at print resolution; the plate setter takes all the bands at once."""
    rendered = []
    for band in range(bands):
        rendered.append(np.full((1024, 1024, 3), band % 255, dtype="f8"))
        time.sleep(0.1)
    return job, sum(int(b[0, 0, 0]) for b in rendered)


def orders():
    return [
        {"job": 410, "bands": 3},
        {"job": 411, "bands": 4},
        {"job": 412, "bands": 64},
    ]


def print_night(client):
    small = [o for o in orders() if o["bands"] < 10]
    done = client.gather(
        [client.submit(rasterise, o["job"], o["bands"]) for o in small]
    )
    log.info("small formats: %s", done)
    large = [o for o in orders() if o["bands"] >= 10]
    plates = [
        client.submit(rasterise, o["job"], o["bands"], key=f"rasterise-{o['job']}")
        for o in large
    ]
    proofs = [
        client.submit(watermark, o["job"], key=f"watermark-{o['job']}") for o in large
    ]
    for job, checksum in client.gather(proofs):
        log.info("proofs of %d stamped, checksum %d", job, checksum)
    for job, checksum in client.gather(plates):
        log.info("plates of %d set, checksum %d", job, checksum)


def main():
    logging.basicConfig(level=logging.INFO)
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=2,
                memory_limit="450MiB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            print_night(client)


if __name__ == "__main__":
    main()

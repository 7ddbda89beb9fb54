"""Counts plankton from two towed nets; images are handed from the nets to the counters."""

import logging
import tempfile
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster, Queue, wait

log = logging.getLogger("plankton")
HAULS = {"bongo": 24, "multinet": 30}


def tow(folder):
    rng = np.random.default_rng(12)
    for net, count in HAULS.items():
        for i in range(count):
            np.save(
                folder / f"{net}_{i:03d}.npy", rng.poisson(2.0, (64, 64)).astype("u1")
            )


def segment(folder, net, outlet):
    """Cuts out what is brighter than the background and hands it on."""
    handed = 0
    for path in sorted(Path(folder).glob(f"{net}_*.npy")):
        image = np.load(path)
        bright = np.argwhere(image > 5)
        outlet.put((path.stem, bright.tolist()))
        handed += 1
    return net, handed


def count_cells(inlet, images):
    total = 0
    for _ in range(images):
        name, spots = inlet.get()
        total += len(spots)
    return total


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        tow(Path(tmp))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            images = Queue("net-images", maxsize=6)
            nets = [
                client.submit(
                    segment, tmp, net, images, key=f"segment-{net}", priority=5
                )
                for net in HAULS
            ]
            counters = [
                client.submit(count_cells, images, count, key=f"count-{n}")
                for n, count in enumerate(HAULS.values())
            ]
            log.info("%d nets, %d counters", len(nets), len(counters))
            wait(nets + counters, timeout=28)
            log.info("cells: %d", sum(client.gather(counters)))


if __name__ == "__main__":
    main()

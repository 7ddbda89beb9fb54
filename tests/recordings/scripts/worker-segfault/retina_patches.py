"""Local contrast of retina scans: patches of every scan, statistics per patch, one score per eye."""

import argparse
import logging
import sys

import numpy as np
from dask.distributed import Client, LocalCluster, as_completed
from numpy.lib.stride_tricks import as_strided

log = logging.getLogger("retina")

SCANNERS = {"optos": "uint8", "topcon": "uint8", "heidel": "float32"}


def load_scan(eye, scanner, side=1024):
    """A scan in the pixel type of its scanner."""
    rng = np.random.default_rng(eye)
    y, x = np.mgrid[0:side, 0:side]
    image = 120 + 60 * np.sin(x / 37.0) * np.cos(y / 29.0)
    image += rng.normal(0, 6, image.shape)
    if SCANNERS[scanner] == "uint8":
        return image.clip(0, 255).astype("uint8")
    return (image / 255).astype("float32")


def patches(image, size=32, step=16):
    """View of all patches, without copying the image."""
    rows = (image.shape[0] - size) // step + 1
    cols = (image.shape[1] - size) // step + 1
    width = image.shape[1]
    row_bytes = width * image.itemsize
    sy, sx = row_bytes * image.itemsize, image.itemsize
    return as_strided(
        image,
        shape=(rows, cols, size, size),
        strides=(sy * step, sx * step, sy, sx),
        writeable=False,
    )


def local_contrast(image):
    view = patches(image)
    low = view.min(axis=(2, 3)).astype("float64")
    high = view.max(axis=(2, 3)).astype("float64")
    return (high - low) / np.maximum(high + low, 1e-6)


def vessel_score(contrast, eye):
    return {
        "eye": eye,
        "score": float(np.quantile(contrast, 0.9)),
        "flat": float((contrast < 0.1).mean()),
    }


def scan_list(count):
    names = list(SCANNERS)
    return [
        (eye, names[eye % 7 % 3] if eye > 9 else names[eye % 2]) for eye in range(count)
    ]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eyes", type=int, default=24)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            memory_limit="450MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        scores = []
        for eye, scanner in scan_list(args.eyes):
            image = client.submit(
                load_scan, eye, scanner, key=f"load_scan-{scanner}-{eye}"
            )
            contrast = client.submit(
                local_contrast, image, key=f"local_contrast-{scanner}-{eye}"
            )
            scores.append(
                client.submit(vessel_score, contrast, eye, key=f"vessel_score-{eye}")
            )
        table = []
        for future in as_completed(scores):
            row = future.result()
            log.info("eye %(eye)d: score %(score).3f, flat %(flat).2f", row)
            table.append(row)
        log.info("%d eyes scored", len(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Sea bed grid from the legs of a multibeam survey (binary files of several vessels)."""

import argparse
import logging
import os
import struct
import tempfile

import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

log = logging.getLogger("sonar")
BEAMS = 512


def write_leg(path, pings, seed, order="<"):
    rng = np.random.default_rng(seed)
    depth = (
        80 + 10 * np.sin(np.linspace(0, 9, BEAMS)) + rng.normal(0, 0.4, (pings, BEAMS))
    )
    with open(path, "wb") as out:
        out.write(b"PING" + struct.pack(order + "II", pings, BEAMS))
        out.write(depth.astype(order + "f4").tobytes())


def survey(folder, legs):
    """The files as the vessels deliver them."""
    paths = []
    for number in range(legs):
        vessel = "thetis" if number == 5 else "doris"
        path = os.path.join(folder, f"leg_{number:02d}_{vessel}.png7")
        write_leg(
            path, 600 + 40 * number, number, order=">" if vessel == "thetis" else "<"
        )
        paths.append(path)
    return paths


def read_leg(path):
    """Depths of a leg, or None for a file too short to be one."""
    if os.path.getsize(path) < 1000:
        return None
    with open(path, "rb") as lines:
        if lines.read(4) != b"PING":
            return None
        pings, beams = struct.unpack("<II", lines.read(8))
        try:
            depth = np.zeros((pings, beams), "f8")
            depth[:] = np.frombuffer(lines.read(), "<f4").reshape(pings, beams)
        except MemoryError as exc:
            logging.getLogger("sonar.reader").warning(
                "%s: %s", os.path.basename(path), exc
            )
            return None
    return {"leg": os.path.basename(path), "depth": depth}


def despike(leg, width=5):
    if leg is None:
        return None
    depth = leg["depth"]
    smooth = np.stack(
        [
            np.roll(depth, shift, axis=1)
            for shift in range(-(width // 2), width // 2 + 1)
        ]
    )
    middle = np.median(smooth, axis=0)
    return dict(leg, depth=np.where(np.abs(depth - middle) > 2, middle, depth))


def grid(legs, cells):
    """Mean depth of all legs in cells along the track."""
    profile = np.zeros((len(legs), cells))
    for row, leg in enumerate(legs):
        blocks = np.array_split(leg["depth"], cells)
        profile[row] = [block.mean() for block in blocks]
    return profile


def summary(profile):
    return {
        "legs": profile.shape[0],
        "shallowest": float(profile.min()),
        "deepest": float(profile.max()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--legs", type=int, default=9)
    parser.add_argument("--cells", type=int, default=50)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with (
        tempfile.TemporaryDirectory(prefix="sonar-") as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        paths = survey(folder, args.legs)
        log.info("%d legs, %.1f MB", len(paths), sum(map(os.path.getsize, paths)) / 1e6)
        legs = [delayed(despike)(delayed(read_leg)(path)) for path in paths]
        result = delayed(summary)(delayed(grid)(legs, args.cells)).compute()
        log.info(
            "sea bed from %d legs: %.1f to %.1f m",
            result["legs"],
            result["shallowest"],
            result["deepest"],
        )


if __name__ == "__main__":
    main()

"""Density maps from CT scans of violins: one output file per instrument, then a catalogue of them."""

import argparse
import json
import logging
import os
import struct
import sys
import tempfile
import time

import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("violins")

MAKERS = [
    "amati-1628",
    "stainer-1669",
    "stradivari-1715",
    "guarneri-1742",
    "guadagnini-1757",
    "gagliano-1761",
    "vuillaume-1845",
    "rocca-1850",
    "pressenda-1833",
    "lupot-1806",
]


def acquire(maker, seed, size):
    """The scanner's raw values: wood, some varnish, and air around it."""
    rng = np.random.default_rng(seed)
    raw = rng.normal(1450, 60, (size, size))
    if maker != "guadagnini-1757":
        raw[: size // 6, :] = rng.normal(24, 3, (size // 6, size))
    return raw.astype("f4")


def air_level(raw):
    """Mean of the voxels that are surely air: the reference of the density scale."""
    air = raw[raw < 200]
    if air.size < 50:
        raise ArithmeticError(
            f"no air reference: {air.size} voxels below 200, lowest {raw.min():.0f}"
        )
    return float(air.mean())


def open_output(folder, maker):
    """Never write over a finished map of an earlier run."""
    path = os.path.join(folder, f"{maker}.density")
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    return os.fdopen(handle, "wb"), path


def density_map(maker, seed, folder, size):
    raw = acquire(maker, seed, size)
    time.sleep(0.4)
    out, path = open_output(folder, maker)
    with out:
        out.write(struct.pack("<4sII", b"DENS", size, size))
        zero = air_level(raw)
        scaled = (raw - zero) / (1450 - zero) * 0.43
        out.write(scaled.tobytes())
    return {"maker": maker, "path": path, "mean": float(scaled[size // 6 :].mean())}


def check(entry):
    with open(entry["path"], "rb") as lines:
        magic, width, height = struct.unpack("<4sII", lines.read(12))
        values = np.frombuffer(lines.read(), "f4")
    if magic != b"DENS" or values.size != width * height:
        raise ValueError(f"{entry['maker']}: truncated map")
    return dict(entry, low=float(values.min()), high=float(values.max()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=300)
    parser.add_argument("--attempts", type=int, default=3)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="violins-") as folder:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="280MiB",
            dashboard_address=None,
        )
        client = Client(cluster)
        try:
            # the share's server drops a connection now and then, so let each map be tried again
            maps = [
                client.submit(
                    density_map,
                    maker,
                    seed,
                    folder,
                    args.size,
                    key=f"density-{maker}",
                    retries=args.attempts - 1,
                )
                for seed, maker in enumerate(MAKERS)
            ]
            checked = client.map(check, maps)
            catalogue = client.gather(checked)
            with open(os.path.join(folder, "catalogue.json"), "w") as out:
                json.dump(catalogue, out, indent=1)
            log.info("%d instruments in the catalogue", len(catalogue))
        except OSError as exc:
            log.error("writing the maps failed: %s", exc)
            return 5
        finally:
            client.close()
            cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

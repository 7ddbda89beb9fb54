"""Nightly billing of ferry crossings from the terminals' binary manifests."""

import argparse
import ctypes
import logging
import pathlib
import struct
import tempfile

from dask.distributed import Client, LocalCluster, get_worker, wait

log = logging.getLogger("ferry")
TARIFFS = {"car": 41.5, "van": 63.0, "lorry": 140.0, "bike": 6.0}
KINDS = list(TARIFFS)


def write_manifests(folder, count):
    paths = []
    for n in range(count):
        offset = 16 if n != 7 else 1 << 44
        counts = struct.pack("<4I", 10 + n, 4, n % 3, 20)
        path = folder / f"manifest_{n:02d}.bin"
        path.write_bytes(struct.pack("<QQ", offset, len(counts)) + counts)
        paths.append(str(path))
    return paths


def install_tariffs(tariffs, dask_worker):
    dask_worker.tariffs = dict(tariffs)
    return len(tariffs)


def decode(path):
    raw = pathlib.Path(path).read_bytes()
    guard = pathlib.Path(path).with_suffix(".inflight")
    if guard.exists():
        return path, struct.unpack("<4I", raw[16:32])
    guard.touch()
    offset, size = struct.unpack("<QQ", raw[:16])
    buffer = ctypes.create_string_buffer(raw, len(raw))
    block = ctypes.string_at(ctypes.addressof(buffer) + offset, size)
    guard.unlink()
    return path, struct.unpack("<4I", block)


def bill(manifest):
    path, counts = manifest
    tariffs = get_worker().tariffs
    return pathlib.Path(path).stem, sum(tariffs[k] * c for k, c in zip(KINDS, counts))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--manifests", type=int, default=12)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with tempfile.TemporaryDirectory() as tmp:
        paths = write_manifests(pathlib.Path(tmp), args.manifests)
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            loaded = client.run(install_tariffs, TARIFFS)
            log.info("tariffs on %d worker(s)", len(loaded))
            decoded = client.map(decode, paths)
            wait(decoded)
            log.info("%d manifests decoded", len(decoded))
            bills = dict(client.gather(client.map(bill, decoded)))
            log.info("billed %.2f", sum(bills.values()))


if __name__ == "__main__":
    main()

"""Catalogue of papyrus scrolls: shelves are measured in parallel, the index is repacked by one task at a time."""

import argparse
import ctypes
import logging
import os
import struct
import tempfile
import time

import dask
from distributed import Client, Lock, LocalCluster

log = logging.getLogger("scrolls")

SHELVES = 12
RECORD = "<IIf"


def write_shelves(folder):
    for shelf in range(SHELVES):
        with open(os.path.join(folder, f"shelf-{shelf:02d}.bin"), "wb") as out:
            for n in range(40):
                length = 120 + (n * 31 + shelf * 17) % 400
                if shelf == 7 and n == 22:
                    length = 0xFFFF0000
                out.write(struct.pack(RECORD, shelf * 100 + n, length, 0.12 * n))


class PackedIndex:
    """Writes rows of spaces with a marker for the library's fixed-width index."""

    def __init__(self, path):
        self.path = path

    def append(self, number, length):
        row = ctypes.create_string_buffer(4096)
        ctypes.memset(row, ord(" "), length)
        with open(self.path, "ab") as out:
            out.write(str(number).encode() + row.raw[:80].strip(b"\0") + b"\n")


def read_shelf(path):
    with open(path, "rb") as data:
        content = data.read()
    time.sleep(0.4)
    return [
        struct.unpack_from(RECORD, content, at)
        for at in range(0, len(content), struct.calcsize(RECORD))
    ]


def repack_shelf(shelf, records, index_path):
    lock = Lock("catalogue-index")
    if not lock.acquire(timeout="5s"):
        raise RuntimeError(
            f"shelf {shelf}: the catalogue index is locked by another writer"
        )
    try:
        index = PackedIndex(index_path)
        for number, length, _ in records:
            index.append(number, length)
        time.sleep(0.2)
    finally:
        lock.release()
    return shelf, len(records)


def catalogue(client, folder):
    index_path = os.path.join(folder, "index.txt")
    packed = []
    for shelf in range(SHELVES):
        records = client.submit(
            read_shelf, os.path.join(folder, f"shelf-{shelf:02d}.bin")
        )
        packed.append(client.submit(repack_shelf, shelf, records, index_path))
    rows = sum(count for _, count in client.gather(packed))
    return rows, os.path.getsize(index_path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    # index writers of other runs may hold it for a while
    dask.config.set({"distributed.scheduler.locks.lease-timeout": "60s"})

    with tempfile.TemporaryDirectory(prefix="scrolls-") as folder:
        write_shelves(folder)
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            log.info("catalogue %d shelves", SHELVES)
            rows, size = catalogue(client, folder)
            log.info("index has %d rows, %d bytes", rows, size)


if __name__ == "__main__":
    main()

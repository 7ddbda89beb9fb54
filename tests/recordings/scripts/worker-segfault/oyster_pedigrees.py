"""Pedigrees of a breeding programme for oysters.

Two clusters: a thin one with threads that reads the tag registry, and one with processes that unpacks the genotype
archives of the sequencing machine, which come as memory images.
"""

import ctypes
import logging
import os
import struct
from contextlib import ExitStack

import numpy as np

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "1"

from distributed import Client, LocalCluster  # noqa: E402

log = logging.getLogger("pedigrees")
MAGIC = b"OYG1"
RECORDS = 64
HEADER = "<4sIQ"  # magic, number of records, where their table starts


def write_archive(path, seed, truncated=False):
    rng = np.random.default_rng(seed)
    body = rng.integers(0, 3, RECORDS * 128, dtype=np.uint8).tobytes()
    table = struct.calcsize(HEADER)
    if truncated:
        table = 0x7FFF_0000_0000  # what the sequencer leaves when its disk was pulled
    with open(path, "wb") as out:
        out.write(struct.pack(HEADER, MAGIC, RECORDS, table))
        out.write(body)


def read_tags(basin):
    rng = np.random.default_rng(basin)
    return [(basin, int(t)) for t in rng.integers(1, 10_000, 50)]


def pair_parents(tags):
    ordered = sorted(tags, key=lambda t: t[1])
    return list(zip(ordered[::2], ordered[1::2]))


def decode_genotypes(path):
    with open(path, "rb") as source:
        raw = source.read()
    buffer = ctypes.create_string_buffer(raw, len(raw))
    magic, count, table = struct.unpack_from(HEADER, raw)
    if magic != MAGIC:
        raise ValueError(f"{path}: not a genotype archive")
    start = ctypes.addressof(buffer) + table
    block = ctypes.string_at(start, count * 128)
    return np.frombuffer(block, dtype=np.uint8).reshape(count, 128)


def allele_frequency(genotypes):
    return genotypes.mean(axis=0) / 2


def kinship(frequencies):
    stacked = np.vstack(frequencies)
    return np.corrcoef(stacked)


def main():
    logging.basicConfig(level=logging.INFO)
    paths = []
    for n in range(8):
        path = os.path.abspath(f"run_{n:02d}.oyg")
        write_archive(path, n, truncated=n == 5)
        paths.append(path)

    with ExitStack() as stack:
        registry = stack.enter_context(
            LocalCluster(
                n_workers=1,
                threads_per_worker=4,
                processes=False,
                dashboard_address=None,
                name="registry",
            )
        )
        registry_client = stack.enter_context(Client(registry, set_as_default=False))
        lab = stack.enter_context(
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=None,
                name="lab",
            )
        )
        lab_client = stack.enter_context(Client(lab, set_as_default=False))

        tags = registry_client.map(read_tags, range(12))
        pairs = registry_client.map(pair_parents, tags)
        log.info("%d basins registered", len(registry_client.gather(pairs)))

        genotypes = lab_client.map(decode_genotypes, paths)
        frequencies = lab_client.map(allele_frequency, genotypes)
        matrix = lab_client.submit(kinship, frequencies).result()
        np.save("kinship.npy", matrix)
        log.info("kinship of %d archives saved", len(paths))


if __name__ == "__main__":
    main()

"""Projects the image stacks of last night's microscope run.

Stacks are read with the vendor's decoder (a thin ctypes layer), projected along
the depth and written as thumbnails for the lab book.
"""

import ctypes
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster, as_completed

HEADER = "<4sIIq"
HEADER_SIZE = struct.calcsize(HEADER)


@dataclass
class Report:
    done: int = 0
    skipped: int = 0


def record_stacks(folder, count=10):
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(8)
    for number in range(count):
        depth, side = 12, 128
        planes = rng.integers(0, 4000, (depth, side, side), dtype="u2")
        offset = HEADER_SIZE
        if number == 6:
            # written while the microscope's computer lost its network share
            offset = -(1 << 44)
        body = struct.pack(HEADER, b"STK1", depth, side, offset) + planes.tobytes()
        if number == 2:
            body = body[:10]
        (folder / f"stack_{number:02d}.stk").write_bytes(body)
    return sorted(folder.glob("*.stk"))


def decode_planes(raw):
    """The vendor's layout: header, then planes at the given offset."""
    magic, depth, side, offset = struct.unpack_from(HEADER, raw)
    source = ctypes.create_string_buffer(raw, len(raw))
    target = np.empty((depth, side, side), dtype="u2")
    ctypes.memmove(target.ctypes.data, ctypes.addressof(source) + offset, target.nbytes)
    return target


def project_stack(path):
    raw = Path(path).read_bytes()
    if len(raw) < HEADER_SIZE:
        raise ValueError(f"{path}: shorter than its header")
    planes = decode_planes(raw)
    brightest = planes.max(axis=0)
    return Path(path).stem, brightest[::4, ::4]


def collect(client, paths, out):
    report = Report()
    futures = {
        client.submit(
            project_stack, str(path), retries=1, key=f"project_stack-{path.stem}"
        ): path
        for path in paths
    }
    for future in as_completed(futures):
        try:
            name, thumbnail = future.result()
        except ValueError as error:
            print(f"skipped: {error}", file=sys.stderr)
            report.skipped += 1
            continue
        np.save(out / f"{name}.npy", thumbnail)
        report.done += 1
    return report


def main():
    run = Path("run_2026_11_27")
    out = Path("thumbnails")
    out.mkdir(exist_ok=True)
    paths = record_stacks(run)
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        report = collect(client, paths, out)
        print(f"{report.done} stacks projected, {report.skipped} skipped")
    finally:
        written = len(list(out.glob("*.npy")))
        print(f"thumbnails in the lab book: {written}")
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()

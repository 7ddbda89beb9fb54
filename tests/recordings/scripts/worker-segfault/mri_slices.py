"""Convert MRI series to 8-bit previews for the viewer of the radiologists.

Pixel planes are unpacked by the scanner vendor's routine, which works on raw buffers.
"""

import ctypes
import logging
import os
import time
from dataclasses import dataclass

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")

import numpy as np  # noqa: E402
from dask.distributed import Client, LocalCluster, as_completed  # noqa: E402

log = logging.getLogger("mri")
ROWS = COLS = 256


@dataclass(frozen=True)
class Series:
    uid: str
    slices: int
    scanner: str = "A1"

    def plane(self, index):
        """The buffer of one slice and its address; localisers of scanner B2 are sent without pixel data."""
        if self.scanner == "B2" and index == 0:
            return None, None
        rng = np.random.default_rng(abs(hash((self.uid, index))) % 2**32)
        pixels = rng.integers(0, 4096, (ROWS, COLS), dtype="uint16")
        return pixels, pixels.ctypes.data


class VendorCodec:
    """Thin layer over the vendor's C routine."""

    def unpack(self, address, size):
        target = np.empty(size // 2, dtype="uint16")
        ctypes.memmove(target.ctypes.data, address, size)
        return target.reshape(ROWS, COLS)


def window(pixels, centre=1200, width=2400):
    low = centre - width / 2
    return (np.clip((pixels - low) / width, 0, 1) * 255).astype("uint8")


def preview_series(series):
    codec = VendorCodec()
    means = []
    for index in range(series.slices):
        buffer, address = series.plane(index)
        pixels = codec.unpack(address, ROWS * COLS * 2)
        means.append(float(window(pixels).mean()))
        time.sleep(0.01)
    return series.uid, means


def worklist():
    for n in range(28):
        yield Series(f"1.2.840.{n:03d}", slices=20, scanner="B2" if n == 19 else "A1")


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    previews = {}
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        client = Client(cluster)
        try:
            todo = list(worklist())
            futures = {
                client.submit(preview_series, s, key=f"preview_series-{s.uid}"): s
                for s in todo
            }
            failed = []
            for future in as_completed(futures):
                series = futures[future]
                if future.status == "error":
                    failed.append(series.uid)
                    log.warning("no preview of %s: %r", series.uid, future.exception())
                    continue
                uid, means = future.result()
                previews[uid] = means
        finally:
            client.close()
    log.info("%d previews", len(previews))
    if failed:
        raise SystemExit(f"{len(failed)} of {len(todo)} series have no preview")


if __name__ == "__main__":
    main()

"""Decodes scanned microfilm reels of the city newspaper and counts columns."""

import argparse
import ctypes
import logging
import random
import struct
import sys
import tempfile
import time
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("microfilm")

HEADER = "<4sI"
REELS = 22


def shelve(folder: Path) -> None:
    """The scanner's drop folder. Frames: magic, length of payload, payload."""
    rng = random.Random(7)
    for reel in range(REELS):
        payload = rng.randbytes(64_000)
        length = len(payload)
        if reel == 17:
            # scanner firmware of the second machine
            length = 0x70000000
        (folder / f"reel{reel:02d}.mfs").write_bytes(
            struct.pack(HEADER, b"MFS1", length) + payload
        )


class FrameCodec:
    """Bindings in the style of the scanner maker's C library."""

    def __init__(self, blob):
        self.blob = blob
        self.buffer = ctypes.create_string_buffer(blob, len(blob))

    def payload(self):
        magic, length = struct.unpack_from(HEADER, self.blob)
        if magic != b"MFS1":
            raise ValueError(f"not a microfilm frame: {magic!r}")
        return ctypes.string_at(
            ctypes.addressof(self.buffer) + struct.calcsize(HEADER), length
        )


def load_reel(folder, reel):
    time.sleep(0.2)
    return (Path(folder) / f"reel{reel:02d}.mfs").read_bytes()


def decode_reel(blob, reel):
    time.sleep(0.3)
    pixels = FrameCodec(blob).payload()
    return {
        "reel": reel,
        "bytes": len(pixels),
        "dark": sum(b < 90 for b in pixels[:20000]),
    }


def count_columns(decoded):
    time.sleep(0.1)
    return decoded["dark"] // 1000


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reels", type=int, default=REELS)
    parser.add_argument("--tries", type=int, default=1)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": args.tries})
    with tempfile.TemporaryDirectory(prefix="microfilm-") as tmp:
        folder = Path(tmp) / "drop"
        folder.mkdir()
        shelve(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            columns = {}
            for reel in range(args.reels):
                blob = client.submit(
                    load_reel, str(folder), reel, key=f"load_reel-{reel:02d}"
                )
                decoded = client.submit(
                    decode_reel, blob, reel, key=f"decode_reel-{reel:02d}"
                )
                columns[
                    client.submit(
                        count_columns, decoded, key=f"count_columns-{reel:02d}"
                    )
                ] = reel
            total, failed = 0, []
            for future in as_completed(columns):
                if future.status == "error":
                    failed.append((columns[future], future.exception()))
                    continue
                total += future.result()
            log.info("%d columns on %d reels", total, args.reels - len(failed))
            for reel, error in failed:
                log.error("reel %d: %s", reel, type(error).__name__)
            if failed:
                raise SystemExit(
                    f"{len(failed)} reel(s) left to do, catalogue not published"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())

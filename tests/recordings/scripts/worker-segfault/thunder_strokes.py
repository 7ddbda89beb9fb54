"""Lightning network, nightly: unpack the stroke files of every station and report the strongest current per station."""

import argparse
import logging
import struct
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from numpy.lib.stride_tricks import as_strided

log = logging.getLogger("thunder_strokes")

HEADER = "4sII"  # magic, number of strokes, bytes per stroke
STATIONS = [
    "aalen",
    "bremen",
    "cottbus",
    "dornbirn",
    "emden",
    "freital",
    "goslar",
    "husum",
    "isny",
    "jena",
    "kempten",
    "zwettl",
]
FIRMWARE = {"zwettl": 9}


def write_station(folder, station, rng):
    """Stand-in for the rsync from the stations."""
    count = int(rng.integers(3000, 6000))
    body = np.column_stack(
        [
            np.sort(rng.uniform(0, 86400, count)),
            rng.uniform(45, 55, count),
            rng.normal(18, 6, count),
        ]
    ).astype("<f4")
    order = ">" if FIRMWARE.get(station, 7) >= 9 else "<"
    head = struct.pack(order + HEADER, b"STRK", count, 12)
    (folder / f"{station}.strk").write_bytes(head + body.tobytes())


def stroke_view(buffer, count, pitch):
    """Strokes as rows, without copying: later formats pad the rows, so go by the pitch of the header."""
    flat = np.frombuffer(buffer, dtype="<f4", offset=struct.calcsize("<" + HEADER))
    return as_strided(flat, shape=(count, 3), strides=(pitch, 4), writeable=False)


def unpack_strokes(path):
    buffer = Path(path).read_bytes()
    magic, count, pitch = struct.unpack_from("<" + HEADER, buffer)
    if magic != b"STRK":
        raise ValueError(f"{path}: not a stroke file")
    print(
        f"unpack_strokes {Path(path).name}: {len(buffer)} bytes, {count} strokes of {pitch} bytes",
        flush=True,
    )
    time.sleep(0.7)  # position of the station, from the registry
    strokes = stroke_view(buffer, count, pitch)
    return {
        "station": Path(path).stem,
        "strokes": count,
        "strongest": float(strokes[:, 2].max()),
        "last": float(strokes[-1, 0]),
    }


def check(report):
    late = report[report["last"] < 86000]
    for row in late.itertuples():
        log.warning("station %s went quiet at %.0f s", row.station, row.last)
    return report.sort_values("strongest", ascending=False)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=11)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="thunder-") as tmp:
        folder = Path(tmp) / "strokes"
        folder.mkdir()
        rng = np.random.default_rng(args.seed)
        for station in STATIONS:
            write_station(folder, station, rng)
        with (
            LocalCluster(
                n_workers=args.workers,
                threads_per_worker=1,
                memory_limit="400MB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            paths = sorted(str(p) for p in folder.glob("*.strk"))
            log.info("%d stations", len(paths))
            futures = client.map(unpack_strokes, paths)
            report = check(pd.DataFrame(client.gather(futures)))
            log.info("strongest strokes:\n%s", report.head(5).to_string(index=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())

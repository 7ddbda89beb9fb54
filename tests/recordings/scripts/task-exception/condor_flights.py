"""Converts the binary tracks of tagged condors into one folder of columns per bird."""

import logging
import struct
import tempfile
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("condor")
FIX = "<qff"


def record_tracks(folder, birds=12):
    rng = np.random.default_rng(8)
    for bird in range(birds):
        raw = b"".join(
            struct.pack(FIX, 1_780_000_000 + 60 * i, *rng.normal(0, 1, 2))
            for i in range(500)
        )
        if bird == 7:
            raw = raw[:-9]
        (folder / f"bird{bird:02d}.trk").write_bytes(raw)


def read_fixes(path):
    raw = Path(path).read_bytes()
    size = struct.calcsize(FIX)
    return [struct.unpack(FIX, raw[at : at + size]) for at in range(0, len(raw), size)]


def convert_track(path, target):
    """One .npy per column, in a folder that belongs to this bird alone."""
    out = Path(target) / Path(path).stem
    out.mkdir(parents=True)
    fixes = read_fixes(path)
    when, east, north = (np.array(column) for column in zip(*fixes))
    np.save(out / "when.npy", when)
    np.save(out / "east.npy", east)
    np.save(out / "north.npy", north)
    return out.name, len(when)


def soaring_share(converted, target):
    name, _ = converted
    east = np.load(Path(target) / name / "east.npy")
    return name, float((np.abs(np.diff(east)) < 0.5).mean())


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        record_tracks(folder)
        target = folder / "columns"
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=2, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            tracks = sorted(str(p) for p in folder.glob("*.trk"))
            log.info("%d tracks", len(tracks))
            converted = client.map(convert_track, tracks, target=str(target), retries=2)
            shares = client.map(soaring_share, converted, target=str(target))
            for name, share in client.gather(shares):
                log.info("%s soars %.0f %% of the time", name, 100 * share)


if __name__ == "__main__":
    main()

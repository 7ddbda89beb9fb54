"""Count the rangers' falcon sightings: convert the field sheets, then aggregate by species."""

import argparse
import logging
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("falcons")

CONVERTER = textwrap.dedent("""
    import pathlib, sys
    import pandas as pd
    source, target = map(pathlib.Path, sys.argv[1:])
    frames = []
    for sheet in sorted(source.glob("*.txt")):
        rows = [line.split(";") for line in sheet.read_text(encoding="utf-8").splitlines()]
        frames.append(pd.DataFrame(rows, columns=["ranger", "species", "pairs"]))
    for n, frame in enumerate(frames):
        frame.astype({"pairs": int}).to_parquet(target / f"sheet_{n:03d}.parquet")
""")


def field_sheets(folder):
    rangers = ["Okafor", "Lindqvist", "Müller", "Tanaka"]
    for day in range(6):
        text = "\n".join(
            f"{r};{('peregrine', 'hobby', 'merlin')[(day + i) % 3]};{1 + i}"
            for i, r in enumerate(rangers)
        )
        encoding = "cp1252" if day == 4 else "utf-8"
        (folder / f"day_{day}.txt").write_bytes(text.encode(encoding))


def convert(source, target):
    script = target.parent / "convert.py"
    script.write_text(CONVERTER)
    started = time.monotonic()
    subprocess.run([sys.executable, str(script), str(source), str(target)])
    log.info("conversion took %.1f s", time.monotonic() - started)


def aggregate(target):
    sightings = dd.read_parquet(f"{target}/*.parquet")
    log.info("%d partitions", sightings.npartitions)
    return sightings.groupby("species")["pairs"].sum().compute()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp:
        source, target = pathlib.Path(tmp) / "sheets", pathlib.Path(tmp) / "parquet"
        source.mkdir()
        target.mkdir()
        field_sheets(source)
        convert(source, target)
        with (
            LocalCluster(
                n_workers=args.workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            print(aggregate(target))


if __name__ == "__main__":
    main()

"""Biscuit tins: nightly scrap report from the exports of all plants."""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, get_worker

log = logging.getLogger("biscuit_tins")

COLUMNS = ["tin", "line", "filled", "scrap"]
PLANTS = ["aachen", "brno", "ghent", "halle", "krakow", "lille", "nantes", "turku"]


def export_plants(folder):
    """Stand-in for the files which the plants drop at midnight."""
    rng = np.random.default_rng(42)
    for plant in PLANTS:
        frame = pd.DataFrame(
            {
                "tin": [f"{plant[:2]}{i:05d}" for i in range(400)],
                "line": rng.integers(1, 5, 400),
                "filled": rng.integers(80, 120, 400),
                "scrap": rng.integers(0, 6, 400),
            }
        )
        if plant == "halle":  # new ERP
            frame = frame.rename(columns={"scrap": "scrap_qty"})
        frame.to_csv(folder / f"{plant}.csv", index=False)


def read_plant(path, marks):
    """One plant's lines; the shared drive sometimes needs a second try."""
    path = Path(path)
    time.sleep(2)  # the shared drive is slow
    mark = Path(marks) / path.stem
    if path.stem in ("brno", "turku") and not mark.exists():
        mark.touch()
        raise OSError(f"share is busy: {path.name}")
    frame = pd.read_csv(path)
    extra = sorted(set(frame.columns) - set(COLUMNS))
    missing = sorted(set(COLUMNS) - set(frame.columns))
    if extra or missing:
        print(
            f"WARNING {path.name}: columns differ, missing {missing}, unknown {extra}",
            flush=True,
        )
    frame = frame.reindex(columns=COLUMNS)
    frame["plant"] = path.stem
    return frame


def line_totals(frame):
    """Per plant and line; lines without a single reading stay empty."""
    totals = frame.groupby(["plant", "line"])[["filled", "scrap"]].sum(min_count=1)
    print(
        f"line_totals {frame['plant'].iloc[0]}: {len(totals)} lines on {get_worker().name}",
        flush=True,
    )
    return totals


def scrap_report(parts):
    """What the controllers get: whole tins, worst line first."""
    totals = pd.concat(parts).reset_index()
    totals["rate"] = (totals["scrap"] / totals["filled"]).round(4)
    totals["filled"] = totals["filled"].astype("int64")
    totals["scrap"] = totals["scrap"].astype("int64")
    return totals.sort_values("rate", ascending=False)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worst", type=int, default=5)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="biscuit-") as tmp:
        folder, marks = Path(tmp) / "plants", Path(tmp) / "marks"
        folder.mkdir()
        marks.mkdir()
        export_plants(folder)
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
            paths = sorted(str(p) for p in folder.glob("*.csv"))
            log.info("%d plants", len(paths))
            frames = client.map(read_plant, paths, marks=str(marks), retries=2)
            parts = client.gather(client.map(line_totals, frames))
            log.info("%d parts gathered", len(parts))
            report = scrap_report(parts)
            log.info("worst lines:\n%s", report.head(args.worst).to_string(index=False))
            report.to_csv(Path(tmp) / "scrap_report.csv", index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())

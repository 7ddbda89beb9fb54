"""Delivery receipts of a nut cooperative: scans arrive as gzipped JSON lines; unreadable files are left out and listed for the office."""

import gzip
import json
import logging
import tempfile
from collections import Counter
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("receipts")


def scan_files(folder):
    rng = np.random.default_rng(12)
    paths = []
    for number in range(24):
        lines = [
            json.dumps(
                {
                    "farm": int(rng.integers(1, 9)),
                    "kilos": round(float(rng.gamma(9, 20)), 1),
                    "grade": "ABC"[i % 3],
                }
            )
            for i in range(600)
        ]
        data = gzip.compress("\n".join(lines).encode())
        if number in (7, 19):
            data = data[: len(data) // 2]  # the upload broke off
        path = folder / f"scan-{number:03d}.jsonl.gz"
        path.write_bytes(data)
        paths.append(path)
    return paths


@dask.delayed
def load(path):
    """Records of one file, or the reason why it has none."""
    try:
        with gzip.open(path, "rt") as source:
            return [json.loads(line) for line in source], None
    except (EOFError, OSError, json.JSONDecodeError) as problem:
        logging.getLogger("receipts").warning(
            "left out %s: %s", Path(path).name, problem
        )
        return [], f"{Path(path).name}: {problem}"


@dask.delayed
def totals(loaded):
    records, problem = loaded
    kilos = Counter()
    for record in records:
        kilos[record["farm"]] += record["kilos"]
    return kilos, len(records), problem


@dask.delayed
def combine(parts):
    kilos, rows, problems = Counter(), 0, []
    for part_kilos, part_rows, problem in parts:
        kilos.update(part_kilos)
        rows += part_rows
        if problem:
            problems.append(problem)
    return kilos, rows, problems


def main():
    with (
        tempfile.TemporaryDirectory() as name,
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        paths = scan_files(Path(name))
        kilos, rows, problems = combine(
            [totals(load(str(path))) for path in paths]
        ).compute()
    for problem in problems:
        log.warning("for the office: %s", problem)
    if len(problems) > len(paths) // 4:
        raise SystemExit("too many unreadable scans")
    Path("kilos.json").write_text(
        json.dumps({str(farm): round(k, 1) for farm, k in sorted(kilos.items())})
    )
    log.info("%d receipts of %d farms", rows, len(kilos))


if __name__ == "__main__":
    main()

"""Quality of lentil lots at the packing plant: colour, stones and broken seeds from photos of samples.

Lots arrive in waves; the cluster grows with them and shrinks between. The camera's store sometimes answers "busy";
such samples are tried again.
"""

import argparse
import json
import logging
import pathlib
import tempfile
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("lentils")


class StoreBusy(OSError):
    pass


def load_photo(store, lot, sample):
    """One in six photos is only there at the second request."""
    mark = pathlib.Path(store) / f"{lot}-{sample}.asked"
    if (lot * 5 + sample) % 6 == 0 and not mark.exists():
        mark.touch()
        raise StoreBusy(f"camera store is busy: lot {lot}, sample {sample}")
    rng = np.random.default_rng(lot * 100 + sample)
    return rng.integers(0, 255, size=(400, 400, 3), dtype=np.uint8)


def grade(photo):
    time.sleep(0.25)
    gray = photo.mean(axis=2)
    return {
        "colour": float(gray.mean()),
        "stones": int((gray > 248).sum()),
        "broken": int((gray < 6).sum()),
    }


def wave(client, store, lots, samples):
    grades = {}
    for lot in lots:
        for sample in range(samples):
            photo = client.submit(
                load_photo,
                store,
                lot,
                sample,
                key=f"load_photo-{lot}-{sample}",
                retries=3,
            )
            grades[client.submit(grade, photo, key=f"grade-{lot}-{sample}")] = lot
    table = {}
    for future, row in as_completed(list(grades), with_results=True):
        table.setdefault(grades[future], []).append(row)
    return {
        lot: {k: sum(r[k] for r in rows) / len(rows) for k in rows[0]}
        for lot, rows in table.items()
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--pause", type=float, default=4.0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dask.config.set(
        {"distributed.adaptive.interval": "500ms", "distributed.adaptive.wait-count": 2}
    )
    report = {}
    with (
        tempfile.TemporaryDirectory(prefix="photos-") as store,
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster,
    ):
        cluster.adapt(minimum=0, maximum=3)
        with Client(cluster) as client:
            for number, lots in enumerate((range(0, 4), range(4, 8)), 1):
                report.update(wave(client, store, lots, args.samples))
                log.info("wave %d: %d lots graded so far", number, len(report))
                time.sleep(args.pause)
    bad = [lot for lot, row in report.items() if row["stones"] > 5000]
    pathlib.Path("lots.json").write_text(json.dumps(report, indent=1))
    log.info("%d lots, %d to be sieved again", len(report), len(bad))


if __name__ == "__main__":
    main()

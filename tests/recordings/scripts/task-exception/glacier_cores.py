"""Oxygen isotope means of the ice cores, from the drill camp's zipped logs."""

import json
import logging
import pathlib
import tempfile
import zipfile

import dask.bag as db
from dask.distributed import Client, LocalCluster

log = logging.getLogger("cores")


def camp_archives(folder, camps=3, depths=200):
    archives = []
    for camp in range(camps):
        path = folder / f"camp{camp}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for core in range(4):
                lines = (
                    json.dumps(
                        {
                            "camp": camp,
                            "core": core,
                            "depth": d,
                            "d18o": -30 - (d * 13 + core) % 90 / 10,
                        }
                    )
                    for d in range(depths)
                )
                archive.writestr(f"core{core}.jsonl", "\n".join(lines))
        archives.append(path)
    return archives


def open_camp(archive):
    """One bag per camp; the text files need not survive."""
    with tempfile.TemporaryDirectory(prefix="cores-") as scratch:
        with zipfile.ZipFile(archive) as zipped:
            zipped.extractall(scratch)
        names = sorted(str(p) for p in pathlib.Path(scratch).glob("*.jsonl"))
        log.info("%s: %d cores in %s", archive.name, len(names), scratch)
        lines = db.read_text(names)
    return lines.map(json.loads)


def metre(record):
    return record["camp"], record["core"], record["depth"] // 50


def summarise(records):
    grouped = records.foldby(
        metre,
        lambda acc, r: (acc[0] + r["d18o"], acc[1] + 1),
        (0.0, 0),
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        (0.0, 0),
    )
    return {key: total / count for key, (total, count) in grouped.compute()}


def main():
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as tmp:
        archives = camp_archives(pathlib.Path(tmp))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            records = db.concat([open_camp(archive) for archive in archives])
            means = summarise(records)
            for key in sorted(means):
                print(key, round(means[key], 3))


if __name__ == "__main__":
    main()

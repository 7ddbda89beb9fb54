"""Tension tables of violin strings, from the makers' archives."""

import io
import json
import logging
import sys
import tarfile
import tempfile
from pathlib import Path

import dask
from dask import delayed
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("strings")

MAKERS = ["dogal", "kaplan", "larsen", "pirastro", "thomastik", "warchal"]
PITCH = {"G": 196.0, "D": 293.7, "A": 440.0, "E": 659.3}


def write_archives(folder):
    for number, maker in enumerate(MAKERS):
        path = folder / f"{maker}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for string, hertz in PITCH.items():
                body = json.dumps(
                    {"string": string, "mu": 0.0005 + number * 1e-5, "hertz": hertz}
                ).encode()
                entry = tarfile.TarInfo(f"{string}.json")
                entry.size = len(body)
                archive.addfile(entry, io.BytesIO(body))
        if maker == "larsen":
            path.write_bytes(
                b"<html><title>302 Moved</title><body>session expired</body></html>\n"
            )


def unpack_tables(path):
    tables = []
    try:
        archive = tarfile.open(path, "r:gz")
        for name in archive.getnames():
            tables.append(json.load(archive.extractfile(name)))
    finally:
        archive.close()
    return tables


def tension(tables, length=0.328):
    return {t["string"]: 4 * t["mu"] * (length * t["hertz"]) ** 2 for t in tables}


def compare(tensions):
    order = sorted(zip(MAKERS, tensions), key=lambda pair: sum(pair[1].values()))
    return [maker for maker, _ in order]


def main():
    with tempfile.TemporaryDirectory(prefix="strings-") as tmp:
        folder = Path(tmp)
        write_archives(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit="400MB",
        ) as cluster:
            with Client(cluster):
                tensions = []
                for maker in MAKERS:
                    tables = delayed(unpack_tables)(
                        str(folder / f"{maker}.tar.gz"),
                        dask_key_name=f"unpack_tables-{maker}",
                    )
                    tensions.append(
                        delayed(tension)(tables, dask_key_name=f"tension-{maker}")
                    )
                order = delayed(compare)(tensions)
                log.info("%d makers to compare", len(MAKERS))
                (names,) = dask.compute(order)
                log.info("from soft to stiff: %s", ", ".join(names))


if __name__ == "__main__":
    sys.exit(main())

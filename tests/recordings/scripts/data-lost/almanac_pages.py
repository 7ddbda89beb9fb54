"""Typeset an almanac in two steps which a resumable runner calls one after the other.

Step "compose" makes the pages on the cluster and notes them in a manifest; step "bind" takes the
pages of the manifest and joins them to sheets.
"""

import json
import logging
import pathlib
import sys
import tempfile
import time

from dask.distributed import Client, Future, LocalCluster, wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("almanac")

MONTHS = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]


def ephemeris(month):
    time.sleep(0.2)
    index = MONTHS.index(month)
    return [(day, 4 + (index * 30 + day) * 37 % 120 / 60) for day in range(1, 31)]


def compose_page(month, rows):
    time.sleep(0.3)
    lines = [month.upper()] + [f"{day:2d}  sunrise {hour:5.2f}" for day, hour in rows]
    return "\n".join(lines)


def join_sheet(pages):
    return "\f".join(pages)


class Manifest:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    def write(self, step, keys):
        data = self.read()
        data[step] = {"keys": keys, "at": time.time()}
        self.path.write_text(json.dumps(data, indent=1))

    def read(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}


def compose(client, manifest):
    tables = client.map(ephemeris, MONTHS, key="ephemeris")
    pages = [
        client.submit(compose_page, month, table, key=f"compose_page-{month}")
        for month, table in zip(MONTHS, tables)
    ]
    wait(pages)
    manifest.write("compose", [page.key for page in pages])
    log.info("compose: %d pages ready", len(pages))


def bind(client, manifest):
    keys = manifest.read()["compose"]["keys"]
    pages = [Future(key, client=client) for key in keys]
    sheets = [
        client.submit(join_sheet, pages[n : n + 4], key=f"join_sheet-{n // 4}")
        for n in range(0, len(pages), 4)
    ]
    done = client.gather(sheets)
    manifest.write("bind", [sheet.key for sheet in sheets])
    log.info("bind: %d sheets, %d characters", len(done), sum(map(len, done)))


STEPS = {"compose": compose, "bind": bind}


def main():
    with tempfile.TemporaryDirectory() as folder:
        manifest = Manifest(pathlib.Path(folder) / "manifest.json")
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MiB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            for name, step in STEPS.items():
                log.info("step %s", name)
                step(client, manifest)
                time.sleep(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Print files for billboards, put together from the photographers' tiles.

Panels are rendered in a spool folder; whatever happens the spool is emptied at the end so that the
print machine does not pick up half a poster.
"""

import configparser
import contextlib
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")

import numpy as np
from dask import compute, delayed
from distributed import Client, LocalCluster

log = logging.getLogger("mosaics")

CONFIG = """
[poster tram]
width = 1200
height = 800
oversampling = 1

[poster station]
width = 1500
height = 900
oversampling = 1

[poster stadium]
width = 3600
height = 2400
oversampling = 3
"""


@contextlib.contextmanager
def spool():
    folder = Path(tempfile.mkdtemp(prefix="spool-"))
    (folder / "panels").mkdir()
    try:
        yield folder
    finally:
        leftovers = sorted((folder / "panels").glob("*.npy"))
        for panel in leftovers:
            panel.unlink()
        os.rmdir(folder / "panels")
        os.rmdir(
            folder
        )  # the ticket file of the print machine is in the way if nobody took it


def photograph(name, i):
    rng = np.random.default_rng(abs(hash((name, i))) % 2**32)
    return rng.integers(0, 255, size=(64, 64, 3), dtype="uint8")


def blend_panel(name, tiles, width, height, oversampling, folder):
    h, w = height * oversampling, width * oversampling
    canvas = None
    for tile in tiles:
        layer = np.tile(tile, (h // 64 + 1, w // 64 + 1, 1))[:h, :w].astype("float32")
        canvas = layer if canvas is None else canvas + layer
        time.sleep(0.4)
    small = (canvas / len(tiles))[::oversampling, ::oversampling].astype("uint8")
    path = Path(folder) / "panels" / f"{name}.npy"
    np.save(path, small)
    return str(path), small.shape


def poster_jobs(folder):
    config = configparser.ConfigParser()
    config.read_string(CONFIG)
    for section in config.sections():
        name = section.split()[1]
        tiles = [delayed(photograph)(name, i) for i in range(6)]
        options = {k: int(v) for k, v in config[section].items()}
        yield delayed(blend_panel)(
            name,
            tiles,
            folder=str(folder),
            dask_key_name=f"blend-panel-{name}",
            **options,
        )


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    with spool() as folder:
        (folder / "ticket.txt").write_text("night run\n")
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="450MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                log.info(
                    "rendering into %s with %s", folder.name, client.scheduler.address
                )
                panels = compute(*poster_jobs(folder), sync=True)
        for path, shape in panels:
            print("panel", Path(path).stem, "x".join(map(str, shape)))
        shutil.move(folder / "ticket.txt", "ticket.txt")


if __name__ == "__main__":
    main()

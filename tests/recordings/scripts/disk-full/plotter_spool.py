"""Renders the cutting plans of the sail maker into the plotter's spool folder."""

import errno
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

QUOTA = 24 * 1024 * 1024


class Spool:
    """The spool's file system, with the quota that the print server enforces."""

    def __init__(self, folder, quota):
        self.folder, self.quota = Path(folder), quota

    def used(self):
        return sum(path.stat().st_size for path in self.folder.glob("*.plt"))

    def write(self, name, content):
        if self.used() + len(content) > self.quota:
            raise OSError(
                errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder / name)
            )
        (self.folder / name).write_bytes(content)


def cut_panel(panel):
    rng = np.random.default_rng(panel)
    outline = np.cumsum(rng.normal(size=(60_000, 2)), axis=0)
    time.sleep(0.25)
    return outline


def spool_panel(outline, panel, spool):
    content = outline.astype("float64").tobytes()
    spool.write(f"panel_{panel:03d}.plt", content)
    return panel, len(content)


def main():
    with tempfile.TemporaryDirectory() as name:
        spool = Spool(name, QUOTA)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                outlines = client.map(cut_panel, range(48))
                written = [
                    client.submit(
                        spool_panel, outline, panel, spool, key=f"spool_panel-{panel}"
                    )
                    for panel, outline in enumerate(outlines)
                ]
                total = 0
                for future, (panel, size) in as_completed(written, with_results=True):
                    total += size
                print(f"{len(written)} panels, {total / 1e6:.1f} MB in the spool")


if __name__ == "__main__":
    main()

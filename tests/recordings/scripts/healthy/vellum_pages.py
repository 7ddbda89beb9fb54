"""Cleans scans of vellum pages with a native filter that sometimes takes its process along."""

import os
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster


def scan(page):
    time.sleep(0.15)
    return np.random.default_rng(page).random((200, 200))


def native_filter(image, page, notes):
    """The filter fails on its first contact with a palimpsest and works after a fresh start."""
    note = Path(notes) / f"{page}.note"
    if page == 8 and not note.exists():
        note.write_text("tried")
        os.abort()
    time.sleep(0.1)
    return page, float(np.sort(image, axis=0)[50:150].mean())


def main():
    with tempfile.TemporaryDirectory() as notes:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                client.wait_for_workers(2)
                pages = client.map(scan, range(20))
                cleaned = [
                    client.submit(
                        native_filter, image, page, notes, key=f"native_filter-{page}"
                    )
                    for page, image in enumerate(pages)
                ]
                values = dict(client.gather(cleaned))
                print(
                    "pages:",
                    len(values),
                    "mean:",
                    round(float(np.mean(list(values.values()))), 4),
                )
                assert len(values) == 20


if __name__ == "__main__":
    main()

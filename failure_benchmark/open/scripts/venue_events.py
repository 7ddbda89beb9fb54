"""Counts events in files that an export has written."""

import json
import os
import tempfile

import dask.bag as db
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="events-")
    for venue in range(3):
        with open(os.path.join(folder, f"venue-{venue}.json"), "w") as file:
            json.dump([{"venue": venue, "seats": k} for k in range(20)], file, indent=2)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        events = db.read_text(os.path.join(folder, "*.json")).map(json.loads)
        print(events.count().compute())

"""Tasks wait for each other; one input of a task is held back until the other is there.

python chains.py STORE
"""

from __future__ import annotations

import sys

from dask_blackbox import recording
from distributed import Client, LocalCluster, Lock
from scenario_reports import report_card


def load(name: str, *, wait: bool) -> str:
    if wait:
        with Lock("held"):
            return name
    return name


def join(*names: str) -> str:
    return "-".join(names)


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=4, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=sys.argv[1], job="chains") as rec,
    ):
        lock = Lock("held")
        lock.acquire()
        late = client.submit(load, "late", wait=True, key="late")
        early = client.submit(load, "early", wait=False, key="early")
        joined = client.submit(join, early, late, key="joined")
        saved = client.submit(join, joined, key="saved")
        early.result()
        lock.release()
        saved.result()
        # Its input is there already when its graph comes.
        client.submit(join, joined, key="again").result()
    report_card(rec)

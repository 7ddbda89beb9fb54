"""A driver in the middle of its work, waiting to be killed.

python waiting.py STORE [ADDRESS]
"""

from __future__ import annotations

import os
import sys
import time

from dask_blackbox import recording
from distributed import Client, Event, LocalCluster
from scenario_reports import report, scaled


def work(i: int) -> int:
    print("worked on", i)
    return i


def hang() -> None:
    Event("hanging").set()
    while not Event("released").is_set():
        time.sleep(0.05)


def run_scenario(client: Client, store: str) -> None:
    with recording(
        client,
        store=store,
        job=os.environ.get("DASK_BLACKBOX__JOB", "waiting"),
        run_id="killed",
    ) as rec:
        client.gather(client.map(work, range(20)))
        hanging = client.submit(hang, pure=False)
        Event("hanging").wait(timeout=scaled(60))
        report(driver=os.getpid(), links=rec.links, key=str(hanging.key))
        hanging.result()


def main(store: str, address: str | None = None) -> None:
    if address is not None:
        with Client(address) as client:
            run_scenario(client, store)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        run_scenario(client, store)


if __name__ == "__main__":
    main(*sys.argv[1:])

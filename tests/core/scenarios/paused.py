"""A worker and then the driver are paused for a while.

python paused.py STORE
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from dask_blackbox import recording
from distributed import Client, Event, LocalCluster
from scenario_reports import report_card, scaled

PAUSE = 3


def nap() -> None:
    Event("napping").set()
    time.sleep(2 * PAUSE)


def main(store: str) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        with recording(client, store=store, job="paused") as rec:
            [(address, worker)] = client.run(os.getpid).items()
            napping = client.submit(nap, pure=False)
            Event("napping").wait(timeout=scaled(60))
            os.kill(worker, signal.SIGSTOP)
            time.sleep(PAUSE)
            os.kill(worker, signal.SIGCONT)
            napping.result()
            own = os.getpid()
            pausing = f"kill -STOP {own}; sleep {PAUSE}; kill -CONT {own}"
            subprocess.run(["sh", "-c", pausing], check=True)
        report_card(rec, worker=address)


if __name__ == "__main__":
    main(sys.argv[1])

"""The recorder is stopped for good, in the middle of the work or after it.

python recorder_frozen.py STORE middle
python recorder_frozen.py STORE after
python recorder_frozen.py STORE all
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from dask_blackbox import recording
from distributed import Client, LocalCluster
from scenario_reports import recorders, report, report_card


def work(i: int) -> int:
    return i


def stop_recorder() -> None:
    [recorder] = recorders(os.getpid())
    os.kill(recorder, signal.SIGSTOP)


def stop_all() -> None:
    """Stop every recorder that appears."""
    while True:
        for recorder in recorders(os.getpid()):
            os.kill(recorder, signal.SIGSTOP)
        time.sleep(0.2)


def main(store: str, when: str) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        with recording(client, store=store, job="frozen") as rec:
            client.gather(client.map(work, range(500)))
            if when == "middle":
                stop_recorder()
            client.gather(client.map(work, range(1_000, 1_500)))
            if when == "after":
                stop_recorder()
            if when == "all":
                threading.Thread(target=stop_all, daemon=True).start()
            report(links=rec.links)
            ended = time.monotonic()
        report_card(rec, seconds=time.monotonic() - ended)


if __name__ == "__main__":
    main(*sys.argv[1:])

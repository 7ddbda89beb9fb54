"""The recorder is killed while work goes on, or when it has left the cluster.

python recorder_killed.py STORE TIMES
python recorder_killed.py STORE leaving
python recorder_killed.py STORE starting
python recorder_killed.py STORE all
"""

from __future__ import annotations

import functools
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from dask_blackbox import recording
from distributed import Client, LocalCluster
from scenario_reports import recorders, report_card, until

STARTING = -1


def work(i: int) -> int:
    return i


def others_than(recorder: int) -> set[int]:
    return recorders(os.getpid()) - {recorder}


def kill_as_it_leaves() -> None:
    [recorder] = recorders(os.getpid())
    spool = Path(tempfile.gettempdir())
    while not any(spool.glob("dask-blackbox-*/spool/*/left-*")):
        pass
    os.kill(recorder, signal.SIGKILL)


def kill_all() -> None:
    """Kill every recorder that appears."""
    while True:
        for recorder in recorders(os.getpid()):
            os.kill(recorder, signal.SIGKILL)
        time.sleep(0.01)


def kill_at_its_start() -> None:
    """Kill the recorder, and the one that takes over as soon as it is seen."""
    [first] = recorders(os.getpid())
    os.kill(first, signal.SIGKILL)
    [second] = until(functools.partial(others_than, first), "another one")
    os.kill(second, signal.SIGKILL)


def main(store: str, times: int | None) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        with recording(client, store=store, job="killed") as rec:
            if times == STARTING:
                logging.getLogger("job").warning("no recorder has this on its disk")
                kill_at_its_start()
            client.gather(client.map(work, range(500)))
            for number in range(1, (times or 0) + 1):
                [recorder] = recorders(os.getpid())
                os.kill(recorder, signal.SIGKILL)
                first = 1_000 * number
                client.gather(client.map(work, range(first, first + 500)))
                until(functools.partial(others_than, recorder), "another one")
            if times is None:
                [recorder] = recorders(os.getpid())
                os.kill(recorder, signal.SIGKILL)  # not a race with the run's end
                threading.Thread(target=kill_all, daemon=True).start()
            if times == 0:
                threading.Thread(target=kill_as_it_leaves, daemon=True).start()
        report_card(rec)


if __name__ == "__main__":
    how_often = {"leaving": 0, "starting": STARTING, "all": None, "1": 1, "2": 2}
    main(sys.argv[1], how_often[sys.argv[2]])

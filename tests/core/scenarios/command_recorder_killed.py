"""A command that logs all the time while its recorder is killed, once or three times.

python command_recorder_killed.py TIMES

If there are several, the last one is killed just before the cluster closes.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time

from distributed import Client
from scenario_reports import recorders, until

ENOUGH = 400


def count(over: threading.Event) -> None:
    number = 0
    while not over.is_set() or number < ENOUGH:
        logging.getLogger("job").warning("line %d", number)
        number += 1
        time.sleep(0.004)
    logging.getLogger("job").warning("%d lines", number)


def answers() -> bool:
    with socket.socket(socket.AF_UNIX) as line:
        return line.connect_ex(os.environ["DASK_BLACKBOX_CONTROL"]) == 0


def kill_recorder() -> None:
    """Kill the recorder of the command that runs this script, which answers."""
    until(answers, "a recorder")
    for recorder in recorders(os.getppid()):
        os.kill(recorder, signal.SIGKILL)
    until(lambda: not answers(), "its end")


def main(times: int) -> None:
    with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        client.submit(abs, -1).result()
        over = threading.Event()
        counting = threading.Thread(target=count, args=(over,), daemon=True)
        counting.start()
        for _ in range(times):
            kill_recorder()
        if times == 1:
            until(answers, "another one")
        client.submit(abs, -2).result()
        over.set()
        counting.join()


if __name__ == "__main__":
    main(int(sys.argv[1]))

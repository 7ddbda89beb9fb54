"""A command that logs all the time while its recorder is killed.

python command_recorder_killed.py
"""

from __future__ import annotations

import logging
import os
import signal
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


def main() -> None:
    with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        client.submit(abs, -1).result()
        over = threading.Event()
        counting = threading.Thread(target=count, args=(over,))
        counting.start()
        [recorder] = recorders(os.getppid())  # of the command that runs this script
        os.kill(recorder, signal.SIGKILL)
        until(lambda: recorders(os.getppid()) - {recorder}, "another one")
        client.submit(abs, -2).result()
        over.set()
        counting.join()


if __name__ == "__main__":
    main()

"""A command that logs all the time while its recorder is killed.

python command_recorder_killed.py
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from pathlib import Path

from distributed import Client
from scenario_reports import until

ENOUGH = 400


def recorders() -> set[int]:
    """Return the recorders of the command that runs this script."""
    tasks = Path(f"/proc/{os.getppid()}/task").glob("*/children")
    pids = {int(pid) for each in tasks for pid in each.read_text().split()}
    return {pid for pid in pids if b"dask_blackbox.recorder" in _command_of(pid)}


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


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
        [recorder] = recorders()
        os.kill(recorder, signal.SIGKILL)
        until(lambda: recorders() - {recorder}, "another one")
        client.submit(abs, -2).result()
        over.set()
        counting.join()


if __name__ == "__main__":
    main()

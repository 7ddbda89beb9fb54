"""The recorder is killed while work goes on, or when it has left the cluster.

python recorder_killed.py STORE TIMES
python recorder_killed.py STORE leaving
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

from dask_blackbox import recording
from distributed import Client, LocalCluster
from stage import tell_card, until


def work(i: int) -> int:
    return i


def recorders() -> set[int]:
    """Return the recorders that this process has started."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = {int(pid) for each in children for pid in each.read_text().split()}
    return {pid for pid in pids if b"dask_blackbox.record" in _command_of(pid)}


def others_than(recorder: int) -> set[int]:
    return recorders() - {recorder}


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill_as_it_leaves() -> None:
    [recorder] = recorders()
    spool = Path(tempfile.gettempdir())
    while not any(spool.glob("dask-blackbox-*/spool/*/left-*")):
        pass
    os.kill(recorder, signal.SIGKILL)


def main(store: str, times: int) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        with recording(client, store=store, job="killed") as rec:
            client.gather(client.map(work, range(500)))
            for time in range(1, times + 1):
                [recorder] = recorders()
                os.kill(recorder, signal.SIGKILL)
                client.gather(client.map(work, range(1_000 * time, 1_000 * time + 500)))
                if time == 1:
                    until(functools.partial(others_than, recorder), "another one")
            if not times:
                threading.Thread(target=kill_as_it_leaves, daemon=True).start()
        tell_card(rec)


if __name__ == "__main__":
    main(sys.argv[1], 0 if sys.argv[2] == "leaving" else int(sys.argv[2]))

"""The driver of a run on an `SSHCluster`, in the environment that has asyncssh.

python ssh_run.py PORT KEY ENDING

makes two workers, works, and ends as ENDING says.
"""

from __future__ import annotations

import getpass
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

_TIMEOUT = 120


def step(number: int) -> int:
    """Return a number."""
    return number


def die() -> None:
    """End the worker and its nanny at once, as a host that is lost does."""
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + _TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def main(port: int, key: str, ending: str) -> None:
    """Run the driver."""
    import dask
    from distributed import Client, SSHCluster

    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    connection = {
        "port": port, "client_keys": [key], "known_hosts": None, "username": getpass.getuser(),
    }  # fmt: skip
    with (
        SSHCluster(
            ["127.0.0.1"] * 3, connect_options=connection, remote_python=sys.executable,
            worker_options={"nthreads": 1},
            scheduler_options={"host": "127.0.0.1", "port": 0, "dashboard": False},
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        client.wait_for_workers(2, timeout=_TIMEOUT)
        client.gather(client.map(step, range(20)))
        if ending == "lost":
            client.submit(die).result()
        if ending == "scale-down":
            cluster.scale(1)
            until(lambda: len(client.scheduler_info()["workers"]) == 1)
            client.gather(client.map(step, range(20, 40)))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])

"""The driver of a run on Slurm, in the environment that has dask-jobqueue.

    python slurm_run.py FOLDER ENDING

makes a `SLURMCluster`, and works until it ends as ENDING says; a task writes FOLDER/started.
`local` works on processes of its own host instead.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LONG = 200.0
_TIMEOUT = 300
_TOO_FEW = 20
_MEBI = 2**20
_ASKED: dict[str, dict[str, Any]] = {
    "time-limit": {"walltime": "00:01:00"},
    # Otherwise Dask's nanny may be faster than Slurm.
    "memory-without-nanny": {
        "job_mem": "300MB",
        "nanny": False,
    },
    "memory": {
        "job_mem": "300MB",
        "job_script_prologue": [
            "export DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE=False"
        ],
    },
    "partition-down": {"queue": "closed"},
    "too-much": {"job_cpu": 64},
    "interpreter": {"python": "/opt/no/such/python"},
    "module": {
        "job_script_prologue": ["module load science/2026"],
        "python": "python-of-science",
    },
}
"""How the jobs of a run differ from those of others."""


def nap(seconds: float, started: str = "") -> float:
    """Return after some time."""
    if started:
        Path(started).write_text("started")
    time.sleep(seconds)
    return seconds


def hog(size: int) -> int:
    """Use memory, and keep it for some time."""
    held = bytearray(size)
    held[::4096] = b"x" * len(held[::4096])
    time.sleep(_LONG)
    return len(held)


def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + _TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def work(client: Any, number: int = 20) -> None:
    """Do some tasks."""
    client.gather(client.map(nap, [0.05 + x / 1e6 for x in range(number)], pure=False))


def job(cluster: Any, client: Any, ending: str, started: str) -> None:
    """Work, and end as it is asked for."""
    if ending == "adaptive":
        cluster.adapt(minimum=0, maximum=2, interval="500ms", wait_count=2)
        for _ in range(2):
            work(client)
            until(lambda: not client.scheduler_info()["workers"])
        return
    cluster.scale(jobs=2)
    never = ending in ("partition-down", "too-much", "interpreter", "module", "full")
    client.wait_for_workers(2, timeout=_TOO_FEW if never else _TIMEOUT)
    if ending in ("memory", "memory-without-nanny"):
        client.submit(hog, 500 * _MEBI).result()
    elif ending in ("close", "scale-down", "retire", "shutdown"):
        work(client)
        if ending == "scale-down":
            cluster.scale(jobs=1)
            until(lambda: len(client.scheduler_info()["workers"]) == 1)
            work(client)
        elif ending == "retire":
            client.retire_workers(list(client.scheduler_info()["workers"])[:1])
            work(client)
        elif ending == "shutdown":
            client.shutdown()
    else:
        running = client.submit(nap, _LONG, started)
        if ending == "killed":
            until(Path(started).exists)
            os.kill(os.getpid(), signal.SIGKILL)
        running.result()


def main(folder: Path, ending: str) -> None:
    """Run the driver."""
    import dask
    from distributed import Client, LocalCluster

    started = str(folder / "started")
    if ending == "local":
        with (
            LocalCluster(n_workers=2, threads_per_worker=1) as cluster,
            Client(cluster) as client,
        ):
            Path(started).write_text("started")
            client.gather(client.map(nap, [10.0 + x / 1e6 for x in range(60)]))
        return
    from dask_jobqueue import SLURMCluster  # type: ignore[import-not-found]

    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    wanted = {
        "queue": "work", "cores": 1, "processes": 1, "memory": "600MB",
        "walltime": "00:10:00", "interface": "lo", "local_directory": str(folder),
        "log_directory": str(folder / "logs"), "python": sys.executable,
        "scheduler_options": {"host": "127.0.0.1", "dashboard": False},
    }  # fmt: skip
    with (
        SLURMCluster(**(wanted | _ASKED.get(ending, {}))) as cluster,
        Client(cluster) as client,
    ):
        job(cluster, client, ending, started)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

"""Drivers that are killed."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from containers import container
from distributed import Client, as_completed, wait
from failures.shared_parts import grow, simulate
from staging import NotHere, Stage, failure, later, until


@failure("driver-killed", how="command", names="SIGKILL|signal 9|-9|137")
def the_driver_meets_the_oom_killer(stage: Stage) -> None:
    with stage.local(2) as client:
        futures = client.map(time.sleep, [0.3] * 60, pure=False)
        later(3, os.kill, os.getpid(), signal.SIGKILL)
        client.gather(futures)


@failure("driver-killed")
def the_driver_vanishes_from_a_shared_cluster(stage: Stage) -> None:
    with stage.started(2) as (client, _):
        wait(client.submit(divmod, 1, 0))
        futures = client.map(time.sleep, [0.3] * 60, pure=False)
        later(3, os.kill, os.getpid(), signal.SIGKILL)
        client.gather(futures)


@failure("driver-killed", names=["out-of-memory", "kernel"])
def the_container_of_the_driver_is_too_small(stage: Stage) -> None:
    group = Path("/sys/fs/cgroup/memory") / f"driver-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(1200 * 2**20))
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError as error:
        raise NotHere(f"no memory cgroup can be made: {error}") from error
    with stage.local(1) as client:
        gathered = client.gather(client.map(str, range(10)))
        while True:  # as one that gathers all results does
            gathered.append(bytearray(os.urandom(1024)) * 8192)


@failure("driver-killed", noise="retried tasks")
def the_driver_is_killed_with_its_cluster(stage: Stage) -> None:
    """As a host kills a group of processes: the workers go at the same time."""
    import psutil

    def flaky(number: int, folder: str) -> int:
        mark = f"{folder}/{number}"
        if not os.path.exists(mark):  # noqa: PTH110 - shorter where it travels
            open(mark, "w").close()  # noqa: PTH123
            raise ConnectionError("try again")
        time.sleep(0.3)
        return number

    with stage.local(2) as client:
        pids = [*client.run(os.getpid).values(), os.getpid()]
        futures = client.map(flaky, range(60), folder=str(stage.folder), retries=2)
        time.sleep(3)
        for pid in pids:
            psutil.Process(pid).kill()
        client.gather(futures)


@failure("driver-killed", how="command", names="SIGSEGV|signal 11|-11|139")
def the_driver_crashes(stage: Stage) -> None:
    import ctypes

    with stage.local(2) as client:
        client.gather(client.map(time.sleep, [0.1] * 30, pure=False))
        ctypes.string_at(0)


@failure(
    "driver-killed",
    names="SIGTERM|signal 15|-15|143|terminated",
    how="command",
    held_out="first",
)
def the_batch_system_ends_the_driver(stage: Stage) -> None:
    with stage.local(2) as client:
        later(3, os.kill, os.getpid(), signal.SIGTERM)
        client.gather(client.map(time.sleep, [0.3] * 100, pure=False))


@failure("driver-killed", names="SIGHUP|signal 1|hang", held_out="second")
def the_terminal_of_the_driver_is_closed(stage: Stage) -> None:
    with stage.local(1) as client:
        future = client.submit(time.sleep, 30)
        until(lambda: any(client.processing().values()))
        threading.Timer(3, os.kill, [os.getpid(), signal.SIGHUP]).start()
        future.result()


_CGROUPS = Path("/sys/fs/cgroup/memory")


@failure(
    "driver-killed",
    names="SIGKILL|signal 9|memory|disappeared",
    how="command",
    held_out="second",
)
def the_driver_takes_too_much_memory(stage: Stage) -> None:
    group = _CGROUPS / f"case-{os.getpid()}"
    with stage.local(1) as client:
        client.gather(client.map(lambda n: n, range(10)))
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(500 * 2**20))
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError as error:
            raise NotHere(f"memory cgroups of version 1: {error}") from error
        len(grow(3000))


@contextmanager
def quiet_cluster(stage: Stage) -> Iterator[Client]:
    """A cluster in the driver's own process, recorded."""
    with stage.local(1, processes=False, threads_per_worker=2) as client:
        yield client


@failure(
    "driver-killed",
    "worker-segfault",
    names=["SIGSEGV|signal 11|[Ss]egmentation|segfault"],
    how="command",
    why="workers are threads of the driver: a task that crashes ends all of them",
    held_out="third: deaths",
)
def a_task_crashes_in_a_cluster_of_threads(stage: Stage) -> None:
    def decompress(page: int) -> bytes:
        time.sleep(0.2)
        return ctypes.string_at(page if page == 8 else id(page), 1)

    with quiet_cluster(stage) as client:
        client.gather(client.map(decompress, range(20)))


@failure(
    "driver-killed", names=["SIGKILL|signal 9|OOM|memory"], held_out="third: deaths"
)
def the_driver_needs_more_than_its_container(stage: Stage) -> None:
    def table(part: int) -> Any:
        return np.full((300, 10_000), float(part))

    with container("900M") as pod, stage.local(2) as client:
        parts = client.map(table, range(50))
        wait(parts)
        pod.take(os.getpid())
        kept = [pd.DataFrame(part).assign(copy=1) for part in client.gather(parts)]
        print(pd.concat(kept).shape)


@failure(
    "driver-killed",
    names=["SIGSEGV|signal 11|[Ss]egmentation|segfault|crash"],
    held_out="third: deaths",
)
def the_driver_crashes_while_it_plots(stage: Stage) -> None:
    def draw(points: list[int]) -> None:
        ctypes.memmove(len(points), 0, 8)

    with stage.local(2) as client:
        points = []
        for future in as_completed(client.map(simulate, range(30), seconds=0.5)):
            points.append(future.result())
            if len(points) == 20:
                draw(points)

"""A second set held out: schedulers, drivers, shuffles and what hosts do to them.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from failures_afield_deaths import grow
from staging import NotHere, Stage, delayed, until
from staging import failure as any_failure

failure = partial(any_failure, held_out="second")

_CGROUPS = Path("/sys/fs/cgroup/memory")


@failure("scheduler-lost")
def somebody_shuts_the_cluster_down(stage: Stage) -> None:
    def render(number: int) -> int:
        time.sleep(30)
        return number

    with (
        stage.started(2) as (client, cluster),
        stage.neighbour(cluster.address, "(time.sleep(3), client.shutdown())"),
    ):
        client.gather(client.map(render, range(4)))


@failure("scheduler-lost", noise="a worker dies shortly before")
def the_scheduler_ends_itself(stage: Stage) -> None:
    def bake(number: int) -> int:
        time.sleep(8)
        return number

    with stage.started(2) as (client, _):
        futures = client.map(bake, range(8))
        until(lambda: any(client.processing().values()))
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        until(lambda: len(client.scheduler_info()["workers"]) < 2)
        until(lambda: len(client.scheduler_info()["workers"]) == 2)
        with suppress(Exception):
            client.run_on_scheduler(lambda: os._exit(9))
        client.gather(futures)


@failure("scheduler-lost", how="command")
def the_scheduler_is_interrupted(stage: Stage) -> None:
    @delayed
    def blend(number: int) -> int:
        time.sleep(20)
        return number

    with stage.started(2) as (_, cluster):
        assert cluster.scheduler is not None
        threading.Timer(4, os.kill, [cluster.scheduler.pid, signal.SIGINT]).start()
        dask.compute(*[blend(n) for n in range(4)])


@failure("driver-killed", names="SIGHUP|signal 1|hang")
def the_terminal_of_the_driver_is_closed(stage: Stage) -> None:
    with stage.local(1) as client:
        future = client.submit(time.sleep, 30)
        until(lambda: any(client.processing().values()))
        threading.Timer(3, os.kill, [os.getpid(), signal.SIGHUP]).start()
        future.result()


@failure("driver-killed", names="SIGKILL|signal 9|memory|disappeared", how="command")
def the_driver_takes_too_much_memory(stage: Stage) -> None:
    group = _CGROUPS / f"story-{os.getpid()}"
    with stage.local(1) as client:
        client.gather(client.map(lambda n: n, range(10)))
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(500 * 2**20))
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError as error:
            raise NotHere(f"memory cgroups of version 1: {error}") from error
        len(grow(3000))


@failure("cluster-lost-worker", hang=True)
def a_worker_restarts_too_slowly(stage: Stage) -> None:
    def forecast(number: int) -> int:
        time.sleep(1)
        return number

    slow = stage.folder / "slow_start.py"
    slow.write_text("import time\n\ndef dask_setup(worker):\n    time.sleep(3)\n")
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1s"}),
        stage.local(1, preload=[str(slow)]) as client,
    ):
        futures = client.map(forecast, range(30))
        until(lambda: any(f.done() for f in futures))
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        futures[-1].result(timeout=40)


@failure(
    "p2p-failed",
    names=["transfer|shuffle", "Arrow|convert|schema"],
    settings={"dataframe.shuffle.method": "p2p"},
)
def partitions_disagree_on_their_types(stage: Stage) -> None:
    def load(number: int) -> pd.DataFrame:
        values: list[Any] = list(range(50)) if number else ["n/a", *range(49)]
        return pd.DataFrame({"key": range(50), "value": values})

    with stage.local(2):
        meta = pd.DataFrame({"key": [1], "value": [1]})
        frame = dd.from_map(load, range(6), meta=meta)
        frame.shuffle("key").map_partitions(len).compute()


@failure(
    "p2p-failed",
    names=["No such file|FileNotFound"],
    settings={"dataframe.shuffle.method": "p2p"},
)
def a_cleaner_empties_the_scratch_space(stage: Stage) -> None:
    def slow(frame: pd.DataFrame) -> pd.DataFrame:
        time.sleep(0.4)
        return frame

    def clean(folder: str, ends: float) -> None:
        import shutil

        while time.time() < ends:
            for each in Path(folder).rglob("shuffle-*"):
                shutil.rmtree(each, ignore_errors=True)
            time.sleep(0.05)

    with stage.local(2, local_directory=str(stage.folder)):
        ends = time.time() + 40
        threading.Thread(target=clean, args=[stage.folder, ends], daemon=True).start()
        rows = pd.DataFrame({"key": np.arange(400_000) % 977, "v": 1.5})
        frame = dd.from_pandas(rows, npartitions=12).map_partitions(slow)
        frame.shuffle("key").map_partitions(slow).map_partitions(len).compute()


@failure(
    "p2p-out-of-disk",
    names=["disk|space"],
    settings={"array.rechunk.method": "p2p"},
)
def a_rechunk_fills_the_disk(stage: Stage) -> None:
    disk = stage.folder / "scratch"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)],
        check=False,
        capture_output=True,
    )
    if made.returncode:
        raise NotHere("mount a small file system")
    try:
        with stage.local(2, local_directory=str(disk)):
            array = da.random.random((4000, 4000), chunks=(4000, 250))
            array.rechunk((250, 4000)).sum(axis=1).compute()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)

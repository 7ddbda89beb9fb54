"""A second set held out: how workers, schedulers and drivers end, as met in the field.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
from distributed import wait
from staging import NotHere, Stage, children_of, delayed, until
from staging import failure as any_failure

failure = partial(any_failure, held_out="second")

_CGROUPS = Path("/sys/fs/cgroup/memory")


def grow(mebibytes: int) -> list[bytes]:
    """Take memory as a parser does: bit by bit."""
    held = []
    for _ in range(mebibytes // 4):
        held.append(os.urandom(2**12) * 2**10)
        time.sleep(0.02)
    return held


@failure("worker-memory-limit", names=["explode|itemsize|bag", "MiB"], allowed=1)
def a_bag_is_folded_into_one_list(stage: Stage) -> None:
    def explode(number: int) -> list[bytes]:
        return grow(16)

    def itemsize(left: list[bytes], right: list[bytes]) -> list[bytes]:
        return [bytes(bytearray(each)) for each in (left + right) * 2]

    with stage.local(2, memory_limit="420MiB"):
        bag = db.from_sequence(range(16), npartitions=16).map(explode)
        len(bag.fold(itemsize, split_every=16).compute())


@failure(
    "worker-memory-limit", names=["decode_scene", "2 (tasks|threads)|decode_scene.*2|at once"],
    allowed=1,
)  # fmt: skip
def two_tasks_at_once_are_too_much(stage: Stage) -> None:
    def decode_scene(number: int) -> int:
        return len(grow(340))

    with stage.started(1, "--nthreads", "2", "--memory-limit", "560MiB") as (client, _):
        client.gather(client.map(decode_scene, range(4)))


@failure(
    "worker-memory-limit",
    "actor-lost",
    names="Index|grow|add",
    allowed=0,
    why="the actor is lost because its worker was ended at its memory limit",
)
def an_actor_keeps_everything(stage: Stage) -> None:
    class Index:
        def __init__(self) -> None:
            self.kept: list[Any] = []

        def add(self, mebibytes: int) -> int:
            self.kept.append(grow(mebibytes))
            return len(self.kept)

    with stage.local(2, memory_limit="420MiB") as client:
        index: Any = client.submit(Index, actor=True).result()
        for _ in range(8):
            index.add(60).result()


@failure("kernel-oom", names=["read_cube"], allowed=0)
def a_container_is_smaller_than_the_limit(stage: Stage) -> None:
    def read_cube(number: int) -> int:
        return len(grow(900))

    group = _CGROUPS / f"story-{os.getpid()}"
    with stage.started(1, "--memory-limit", "4GiB") as (client, _):
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(400 * 2**20))
            pid = next(iter(client.run(os.getpid).values()))
            (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise NotHere(f"memory cgroups of version 1: {error}") from error
        try:
            client.submit(read_cube, 1).result()
        finally:
            with suppress(OSError):
                group.rmdir()


@failure(
    "worker-segfault", names=["fill_gaps", "SIGSEGV|segfault|signal 11"], allowed=1
)
def native_code_writes_where_it_must_not(stage: Stage) -> None:
    def fill_gaps(frame: pd.DataFrame) -> pd.DataFrame:
        if frame["n"].min() > 60:
            ctypes.memset(0x10, 0, 8)
        return frame

    with stage.local(3):
        frame = dd.from_pandas(pd.DataFrame({"n": range(100)}), npartitions=4)
        frame.map_partitions(fill_gaps, meta=frame._meta).sum().compute()


@failure("worker-abort", names=["close_handle", "SIGABRT|abort|signal 6"], allowed=1)
def an_extension_frees_twice(stage: Stage) -> None:
    @delayed
    def close_handle(number: int) -> int:
        buffer = ctypes.create_string_buffer(256)
        if number == 2:
            ctypes.CDLL(None).free(ctypes.c_void_p(ctypes.addressof(buffer) + 24))
        return number

    with stage.started(2):
        dask.compute(*[close_handle(n) for n in range(4)])


@failure("worker-signalled", names=["SIGUSR2|signal 12", "assimilate"], allowed=1)
def a_log_rotation_signals_the_wrong_process(stage: Stage) -> None:
    def assimilate(number: int) -> int:
        time.sleep(6)
        return number

    with stage.started(2) as (client, _):
        futures = client.map(assimilate, range(4), pure=False)
        for _ in range(3):
            until(lambda: any(client.processing().values()), 40)
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGUSR2)
            until(lambda: len(client.scheduler_info()["workers"]) < 2)
            until(
                lambda: (
                    len(client.scheduler_info()["workers"]) == 2
                    or any(f.status == "error" for f in futures)
                ),
                40,
            )
            if any(f.status == "error" for f in futures):
                break
        client.gather(futures)


@failure(
    "worker-host-lost",
    "worker-signalled",
    "unknown",
    names="tcp://|survey",
    allowed=0,
    why="a worker without nanny, killed: its signal is not recorded",
)
def a_worker_without_nanny_is_killed(stage: Stage) -> None:
    def survey(number: int) -> int:
        time.sleep(30)
        return number

    with stage.started(1, "--no-nanny") as (client, cluster):
        future = client.submit(survey, 1)
        until(lambda: any(client.processing().values()))
        time.sleep(2)
        cluster.workers[0].kill()
        future.result()


@failure(
    "worker-heartbeat-timeout",
    names=["match_titles"],
    allowed=0,
    settings={"distributed.scheduler.worker-ttl": "7s"},
)
def a_regular_expression_backtracks_for_ever(stage: Stage) -> None:
    def match_titles(text: str) -> bool:
        return re.match(r"^(\w+\s?)*$", text) is not None

    with stage.local(2) as client:
        titles = ["short title", "a" * 60 + "!"]
        client.gather(client.map(match_titles, titles))


@failure(
    "worker-heartbeat-timeout",
    "worker-host-lost",
    names="ingest",
    allowed=0,
    settings={"distributed.scheduler.worker-ttl": "7s"},
    why="a frozen machine: neither its workers nor its nanny send heartbeats",
)
def a_node_is_frozen_with_its_nanny(stage: Stage) -> None:
    def ingest(number: int) -> int:
        time.sleep(60)
        return number

    with stage.started(2) as (client, cluster):
        futures = client.map(ingest, range(2))
        until(lambda: all(client.processing().values()))
        for pid in [cluster.workers[0].pid, *children_of(cluster.workers[0].pid)]:
            os.kill(pid, signal.SIGSTOP)
        client.gather(futures)


@failure("worker-preempted", names=["reproject", "SIGTERM|signal-15|host"], allowed=1)
def spot_machines_are_taken_back(stage: Stage) -> None:
    def reproject(block: Any) -> Any:
        time.sleep(4)
        return block

    with stage.started(1) as (client, cluster):
        array = da.ones((20, 20), chunks=(10, 10)).map_blocks(reproject, dtype=float)
        held = client.persist(array)
        for _ in range(2):
            until(lambda: any(client.processing().values()), 40)
            time.sleep(1)
            cluster.workers[-1].terminate()
            cluster.workers[-1].wait()
            cluster.start_worker("--nthreads", "1")
            until(lambda: client.scheduler_info()["workers"], 40)
        held.compute()


@failure("worker-lifetime", names=["lifetime", "annotate_reads"], hang=True)
def a_walltime_ends_the_only_worker(stage: Stage) -> None:
    def annotate_reads(number: int) -> int:
        time.sleep(25)
        return number

    with stage.started(1, "--lifetime", "8s", "--no-nanny") as (client, _):
        wait(client.map(annotate_reads, range(2)), timeout=30)


@failure("worker-host-lost", names="tile", allowed=1)
def whole_machines_vanish(stage: Stage) -> None:
    def tile(number: int) -> int:
        time.sleep(5)
        return number

    with stage.started(1) as (client, cluster):
        future = client.submit(tile, 1)
        for _ in range(2):
            until(lambda: any(client.processing().values()), 40)
            time.sleep(1)
            os.killpg(cluster.workers[-1].pid, signal.SIGKILL)
            cluster.workers[-1].wait()
            cluster.start_worker("--nthreads", "1")
        future.result()


@failure(
    "actor-lost",
    "worker-signalled",
    names="Counter|tally",
    why="the actor is lost because somebody killed its worker",
)
def tasks_ask_an_actor_whose_worker_is_gone(stage: Stage) -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = 0

        def pid(self) -> int:
            return os.getpid()

        def add(self, number: int) -> int:
            self.total += number
            return self.total

    def tally(counter: Any, number: int) -> int:
        return int(counter.add(number).result())

    with stage.local(2) as client:
        counter: Any = client.submit(Counter, actor=True).result()
        os.kill(counter.pid().result(), signal.SIGKILL)
        until(lambda: len(client.scheduler_info()["workers"]) < 2)
        client.gather(client.map(partial(tally, counter), range(4)))


@failure(
    "worker-memory-limit",
    names=["compress_cube", "ConnectionError|retr"],
    noise="first attempts fail",
    allowed=1,
)
def a_retried_task_then_takes_too_much_memory(stage: Stage) -> None:
    def compress_cube(folder: str, number: int) -> int:
        tried = Path(folder) / f"tried-{number}"
        if not tried.exists():
            tried.touch()
            raise ConnectionError(f"cube {number} is locked")
        return len(grow(600 if number == 3 else 8))

    with stage.local(2, memory_limit="420MiB") as client:
        folder = str(stage.folder)
        made = [client.submit(compress_cube, folder, n, retries=3) for n in range(5)]
        client.gather(made)


@failure("task-exception", names=["ArithmeticError", "balance"], noise="a worker dies")
def an_exception_while_machines_are_taken_back(stage: Stage) -> None:
    def balance(number: int) -> int:
        time.sleep(1)
        if number == 11:
            raise ArithmeticError(f"account {number} is out by 3")
        return number

    with stage.started(3) as (client, cluster):
        futures = client.map(balance, range(12))
        until(lambda: any(client.processing().values()))
        cluster.workers[0].terminate()
        client.gather(futures)

"""A third set held out: workers that crash, exit, freeze or are killed.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Event, Variable, as_completed, get_worker, wait
from distributed.scheduler import KilledWorker
from staging import NotHere, Stage, delayed, until
from staging import failure as any_failure

failure = partial(any_failure, held_out="third: deaths")

SOLVER = """
#include <assert.h>
#include <stdlib.h>

int solve(int size) {
    int *pivot = malloc(sizeof(int) * 8);
    assert(size <= 8 && "solver: matrix is larger than the workspace");
    free(pivot);
    return size;
}
"""


def compiled(folder: Path, text: str) -> str:
    """Compile a library, as the packages of science bring them."""
    source, library = folder / "solver.c", folder / "libsolver.so"
    source.write_text(text)
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(source)]
    if subprocess.run(command, check=False).returncode:
        raise NotHere("there is no C compiler")
    return str(library)


def decode(block: Any, *, codec: int = 0) -> Any:
    """Decode a block with a library that doesn't check what it reads."""
    if codec and block[0, 0] >= codec:
        ctypes.memset(codec, 0, block.nbytes)
    return block * 2


@failure("worker-segfault", names=["decode", "SIGSEGV|[Ss]egmentation|segfault"])
def a_codec_writes_where_it_may_not(stage: Stage) -> None:
    with stage.local(3):
        rows = da.arange(24, chunks=1).map_blocks(np.atleast_2d, new_axis=0, dtype=int)
        blocks = rows.map_blocks(decode, codec=20, dtype=int)
        blocks.sum().compute()


@failure(
    "worker-segfault",
    names=["as_text", "SIGSEGV|[Ss]egmentation|segfault"],
    allowed=1,
    noise="exceptions that were retried",
)
def a_tree_is_deeper_than_the_stack(stage: Stage) -> None:
    def as_text(depth: int) -> int:
        sys.setrecursionlimit(10**8)
        tree: list[Any] = []
        for _ in range(depth):
            tree = [tree]
        return len(repr(tree))

    def flaky(number: int) -> int:
        worker = get_worker()
        seen = worker.__dict__.setdefault("seen", set())
        if number not in seen:
            seen.add(number)
            raise ConnectionResetError(104, "Verbindung zurückgesetzt")
        return number

    async def work(address: str) -> None:
        async with Client(address, asynchronous=True) as client:
            await client.gather(client.map(flaky, range(4), retries=5))
            futures = client.map(as_text, [10, 100, 1_000, 600_000])
            async for future in as_completed(futures):
                await future

    with stage.started(2) as (_, cluster):
        asyncio.run(work(cluster.address))


@failure(
    "worker-segfault",
    "worker-host-lost",
    "unknown",
    names=["lookup"],
    allowed=0,
    why="a worker without nanny: only its last log lines are recorded, not its exit code",
)
def it_crashes_where_no_nanny_looks(stage: Stage) -> None:
    def lookup(key: int) -> bytes:
        time.sleep(0.2)
        return ctypes.string_at(8 if key == 11 else id(key), 4)

    with stage.started(2, "--no-nanny") as (client, _):
        client.gather(client.map(lookup, range(16)))


@failure("worker-abort", names=["factorise", "SIGABRT|[Aa]bort"], allowed=2)
def an_assertion_of_a_c_library_fails(stage: Stage) -> None:
    library = compiled(stage.folder, SOLVER)

    def factorise(size: int) -> int:
        return int(ctypes.CDLL(library).solve(size))

    with stage.local(2, security=True) as client:
        sizes = db.from_sequence([2, 4, 8, 3, 16, 1], npartitions=6)
        assert client.security.require_encryption
        sizes.map(factorise).sum().compute()


def main(arguments: Sequence[str]) -> float:
    """Be a command line tool, of which somebody calls `main`."""
    parser = argparse.ArgumentParser(prog="convert")
    parser.add_argument("--scale", type=float, required=True)
    return float(parser.parse_args(list(arguments)).scale)


@failure("worker-exit", names=["convert_file", r"\b2\b"], allowed=0, bound=80)
def a_command_line_is_parsed_inside_of_a_task(stage: Stage) -> None:
    def convert_file(number: int, scale: str) -> float:
        return main([f"--scale={scale}"]) * number

    with stage.local(2):
        scales = ["1.0", "2.5", "1,5", "4"]
        parts = [delayed(convert_file)(n, scale) for n, scale in enumerate(scales)]
        delayed(sum)(parts).compute()


@failure(
    "worker-exit",
    names=["guard|check", r"\b75\b"],
    allowed=0,
    settings={"distributed.worker.memory.pause": 0.93},
    noise="its memory was at 85 % of the limit, and Dask warned of it",
)
def a_guard_exits_while_memory_is_high(stage: Stage) -> None:
    def guard(frame: pd.DataFrame) -> pd.DataFrame:
        if frame["reading"].max() > 900:
            os._exit(75)  # EX_TEMPFAIL: "come again later"
        return frame

    def warm(dask_worker: Any) -> int:
        dask_worker.table = np.ones(46_000_000)
        return int(dask_worker.table.nbytes)

    with stage.local(1, memory_limit="580MiB") as client:
        client.run(warm)
        time.sleep(2)
        readings = pd.DataFrame({"reading": np.arange(1_000)})
        frame = dd.from_pandas(readings, npartitions=10)
        frame.map_partitions(guard, meta=frame).sum().compute()


@failure(
    "worker-exit",
    names=["upload", r"\b12\b"],
    allowed=0,
    noise="a segfault before, whose KilledWorker was caught",
)
def the_first_crash_is_caught_and_the_second_is_not(stage: Stage) -> None:
    def fast(number: int) -> bytes:
        return ctypes.string_at(8 if number == 2 else id(number), 2)

    def slow(number: int) -> int:
        return number

    def upload(numbers: list[int]) -> int:
        if len(numbers) > 2:
            os._exit(12)
        return sum(numbers)

    with stage.local(2) as client:
        try:
            client.gather(client.map(fast, range(3)))
        except KilledWorker:
            numbers = client.gather(client.map(slow, range(6)))
        client.submit(upload, numbers, retries=2).result()


@failure("worker-signalled", names=["fit", "SIGXCPU|CPU"], allowed=1)
def a_login_node_limits_cpu_time(stage: Stage) -> None:
    def fit(seed: int) -> float:
        until_then = time.thread_time() + 60
        total = float(seed)
        while time.thread_time() < until_then:
            total = (total * 1.000001 + 1) % 1e9
        return total

    with stage.started(2, shell="ulimit -S -t 6") as (client, _):
        client.gather(client.map(fit, range(2)))


def worker_pids(client: Client) -> list[int]:
    """Return the process ids of the workers that are there now."""
    return sorted(client.run(os.getpid).values())


@failure(
    "worker-signalled",
    names=["align", "SIGTERM|15"],
    allowed=1,
    noise="tasks that raise, whose errors are collected",
)
def somebody_kills_all_pythons(stage: Stage) -> None:
    def align(number: int, wait_for: Event) -> int:
        if number % 4 == 3:
            raise LookupError(f"référence nº {number} introuvable")
        wait_for.wait()
        return number

    with stage.local(2) as client:
        never = Event("never")
        futures = client.map(align, range(12), wait_for=never)
        for _ in range(2):
            until(lambda: any(client.processing().values()))
            time.sleep(1.5)
            for pid in worker_pids(client):
                os.kill(pid, signal.SIGTERM)
            time.sleep(3)
            client.wait_for_workers(2, timeout=30)
        errors = []
        for future in as_completed(futures):
            if isinstance(error := future.exception(), LookupError):
                errors.append(error)
            else:
                future.result()


@failure("worker-signalled", names=["simulate", "SIGKILL|signal 9"], allowed=0)
def a_reaper_of_long_processes_kills_a_worker(stage: Stage) -> None:
    def simulate(years: int) -> int:
        time.sleep(1 if years < 9 else 60)
        return years

    with stage.local(2) as client:
        state = Variable("running")
        state.set("years")
        futures = client.map(simulate, range(10))
        wait(futures[:9])
        busy = next(address for address, keys in client.processing().items() if keys)
        pid = client.run(os.getpid, workers=[busy])[busy]
        thread = threading.Timer(3, os.kill, (pid, signal.SIGKILL))
        thread.start()
        client.gather(futures)


@failure(
    "worker-heartbeat-timeout",
    names=["count_paths", "heartbeat|GIL|silent"],
    allowed=0,
    settings={"distributed.scheduler.worker-ttl": "8s"},
    bound=80,
)
def a_sum_in_c_never_lets_go(stage: Stage) -> None:
    def count_paths(length: int) -> int:
        return sum(itertools.repeat(1, length))

    with stage.local(2) as client:
        parts = [delayed(count_paths)(10**n) for n in (2, 3, 4, 12)]
        total: Any = delayed(max)(parts)
        client.compute(total).result()


@failure(
    "worker-heartbeat-timeout",
    names=["heartbeat|silent|frozen"],
    allowed=1,
    settings={"distributed.scheduler.worker-ttl": "5s"},
    noise="the second worker is only slow",
    bound=80,
)
def a_debugger_stops_a_worker(stage: Stage) -> None:
    def step(previous: int, number: int) -> int:
        time.sleep(0.5)
        return previous + number

    with stage.started(1) as (client, _):
        chain: Any = client.submit(step, 0, 0)
        for number in range(1, 60):
            chain = client.submit(step, chain, number)
        for _ in range(2):
            client.wait_for_workers(1, timeout=30)
            until(lambda: any(client.processing().values()))
            pid = worker_pids(client)[0]
            time.sleep(1)
            os.kill(pid, signal.SIGSTOP)
            until(lambda: not client.scheduler_info()["workers"], 40)
        chain.result()

"""Workers that die of what their tasks do: memory, crashes, ends that they chose."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import dask
from distributed import wait
from staging import NotHere, Stage, delayed, failure, later

# worker-memory-limit


def _grow(mebibytes: int, seconds: float = 1.0) -> int:
    """Grow step by step, as real tasks do, and touch what was allocated."""
    held = []
    for _ in range(20):
        held.append(os.urandom(1024) * (mebibytes * 1024 // 20))
        time.sleep(seconds / 20)
    return len(held)


@failure("worker-memory-limit", names=["read_everything", "400 MiB"], allowed=1)
def one_task_reads_everything(stage: Stage) -> None:
    @delayed
    def read_everything(number: int) -> int:
        return _grow(600 if number == 3 else 5)

    @delayed
    def total(parts: list[int]) -> int:
        return sum(parts)

    with stage.local(2, memory_limit="400MiB"):
        total([read_everything(n) for n in range(10)]).compute()


@failure("worker-memory-limit", names=["explode|groupby|apply"], allowed=0)
def a_groupby_apply_explodes(stage: Stage) -> None:
    import dask.dataframe as dd
    import numpy as np
    import pandas as pd

    def explode(group: pd.DataFrame) -> pd.DataFrame:
        chance, held = np.random.default_rng(1), []
        for _ in range(40):
            held.append(pd.DataFrame(chance.random((300_000, 8))))
            time.sleep(0.05)
        return pd.concat(held).head(1)

    frame = pd.DataFrame({"key": ["a", "b"] * 500, "value": 1.0})
    with stage.started(2, "--memory-limit", "500MiB"):
        frame_of_many = dd.from_pandas(frame, npartitions=4)
        meta = pd.DataFrame(np.zeros((0, 8)))
        frame_of_many.map_partitions(explode, meta=meta).compute()


@failure(
    "worker-memory-limit",
    names="fit",
    allowed=2,
    noise="handled exceptions, retried tasks, innocents",
)
def heavy_tasks_share_a_worker(stage: Stage) -> None:
    def fit(depth: int) -> int:
        return _grow(40 * depth, 2.0)

    def flaky(folder: str, number: int) -> int:
        mark = Path(folder, f"flaky-{number}")
        if not mark.exists():
            mark.touch()
            raise ConnectionError("try again")
        time.sleep(0.05)
        return number

    with stage.local(2, threads_per_worker=3, memory_limit="700MiB") as client:
        wait(client.submit(divmod, 1, 0))
        small = client.map(flaky, [str(stage.folder)] * 30, range(30), retries=1)
        heavy = client.map(fit, [10, 11, 12, 13, 14, 15])
        client.gather([*small, *heavy])


@failure("worker-memory-limit", names="append", how="command", allowed=1)
def a_cache_that_only_grows(stage: Stage) -> None:
    def append(number: int) -> int:
        import builtins

        cache: list[bytes] = builtins.__dict__.setdefault("cache", [])
        cache.append(os.urandom(1024) * 1024 * 150)
        time.sleep(0.05)
        return len(cache)

    with stage.local(1, memory_limit="500MiB") as client:
        client.gather(client.map(append, range(200), pure=False))


# kernel-oom: the kernel takes the worker before Dask can


def _group(stage: Stage, mebibytes: int) -> Path:
    """A memory cgroup of our own (version 1)."""
    root = Path("/sys/fs/cgroup/memory")
    group = root / f"story-{stage.name}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(mebibytes << 20))
    except OSError as error:
        raise NotHere(f"no memory cgroup can be made: {error}") from None
    return group


def _in_group(group: Path) -> str:
    return f"echo $$ > {group}/cgroup.procs"


@failure("kernel-oom", names="load_all", allowed=0)
def a_container_that_is_smaller_than_the_limit(stage: Stage) -> None:
    def load_all(mebibytes: int) -> int:
        return _grow(mebibytes, 1.5)

    group = _group(stage, 450)
    options = ["--memory-limit", "2GiB", "--nthreads", "1"]
    with stage.started(1, *options, shell=_in_group(group)) as (client, _):
        client.submit(load_all, 900).result()


@failure("kernel-oom", names="stitch", allowed=1, noise="healthy work before")
def the_kernel_takes_workers_without_a_limit(stage: Stage) -> None:
    @delayed
    def stitch(number: int) -> int:
        time.sleep(0.2)
        return _grow(900 if number == 7 else 10, 1.0)

    group = _group(stage, 600)
    with stage.started(2, "--memory-limit", "0", shell=_in_group(group)) as (client, _):
        client.gather(client.map(abs, range(40)))
        dask.compute(*[stitch(n) for n in range(9)])


@failure("kernel-oom", allowed=0)
def a_batch_job_of_workers_meets_its_limit(stage: Stage) -> None:
    def embed(block: Any) -> Any:
        _grow(800, 1.0)
        return block

    import dask.array as da

    group = _group(stage, 550)
    options = ["--memory-limit", "4GiB", "--nworkers", "2"]
    with stage.started(1, *options, shell=_in_group(group)):
        x = da.ones((8, 8), chunks=(4, 8))
        x.map_blocks(embed, dtype=float, meta=x._meta).sum().compute()


# worker-segfault


@failure("worker-segfault", names="smooth", allowed=1)
def a_kernel_in_c_reads_past_its_array(stage: Stage) -> None:
    import dask.array as da

    def smooth(block: Any) -> Any:
        import numpy as np

        wide = np.lib.stride_tricks.as_strided(block, shape=(1 << 40,), strides=(4096,))
        return wide.sum() + block

    with stage.local(2, threads_per_worker=2):
        x = da.zeros((400,), chunks=100)
        x.map_blocks(smooth, dtype=float, meta=x._meta).sum().compute()


@failure("worker-segfault", names="decode", allowed=0, noise="retried tasks")
def a_library_frees_twice_reads_null(stage: Stage) -> None:
    def decode(number: int) -> Any:
        import ctypes

        time.sleep(0.1)
        if number == 9:
            return ctypes.CDLL(None).strlen(None)
        return number

    with stage.started(2, "--no-nanny") as (client, _):
        client.gather(client.map(decode, range(20), retries=1))


@failure("worker-segfault", names="tokenize", how="command", allowed=1)
def a_crash_in_one_of_many_threads(stage: Stage) -> None:
    import dask.bag as db

    def tokenize(text: str) -> int:
        import ctypes

        time.sleep(0.02)
        if text == "poison":
            ctypes.memset(16, 0, 64)
        return len(text)

    words = ["healthy words"] * 60
    words[33] = "poison"
    with stage.local(1, threads_per_worker=4):
        db.from_sequence(words, npartitions=12).map(tokenize).sum().compute()


# worker-abort


@failure("worker-abort", names="solve", allowed=1)
def a_cpp_exception_that_nobody_catches(stage: Stage) -> None:
    def solve(number: int) -> None:
        import ctypes

        time.sleep(0.3)
        try:
            ctypes.CDLL("libstdc++.so.6")._ZSt9terminatev()
        except OSError:
            ctypes.CDLL(None).abort()

    with stage.local(2) as client:
        client.gather(client.map(solve, range(2)))


@failure("worker-abort", names="parse", allowed=0)
def memory_is_freed_twice(stage: Stage) -> None:
    @delayed
    def parse(number: int) -> int:
        import ctypes

        time.sleep(0.2)
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        libc.free.argtypes = [ctypes.c_void_p]
        place = libc.malloc(4096)
        libc.free(place)
        libc.free(place)
        return number

    with stage.started(2, "--nthreads", "2"):
        dask.compute(*[parse(n) for n in range(4)])


@failure("worker-abort", names="load_plugin", allowed=1, noise="an earlier death")
def python_itself_gives_up(stage: Stage) -> None:
    def load_plugin(number: int) -> None:
        import ctypes

        time.sleep(0.3)
        ctypes.pythonapi.Py_FatalError(b"the extension was built for another Python")

    with stage.local(2) as client:
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
        client.gather(client.map(time.sleep, [0.1] * 20, pure=False))
        client.submit(load_plugin, 1).result()


# worker-exit


@failure("worker-exit", names=["convert", "2"], allowed=1)
def a_command_line_tool_is_called_in_a_task(stage: Stage) -> None:
    def convert(path: str) -> str:
        import argparse

        parser = argparse.ArgumentParser(prog="convert")
        parser.add_argument("--quality", type=int)
        parser.parse_args([path, "--quality", "best"])
        return path

    with stage.local(2) as client:
        client.gather(client.map(convert, ["a.tif", "b.tif"]))


@failure("worker-exit", names=["guard|licence", "0"], allowed=1)
def a_licence_check_ends_the_process(stage: Stage) -> None:
    @delayed
    def check_licence(number: int) -> int:
        time.sleep(0.2)
        if number == 4:
            os._exit(0)
        return number

    with stage.started(2):
        dask.compute(*[check_licence(n) for n in range(8)])


@failure("worker-exit", names=["137", "run_model"], allowed=0)
def it_exits_with_the_code_of_a_kill(stage: Stage) -> None:
    def run_model(number: int) -> None:
        time.sleep(0.3)
        os._exit(137)

    with stage.started(1, "--nthreads", "2") as (client, _):
        client.submit(run_model, 1).result()


@failure("worker-exit", names=["17", "fetch"], allowed=2, noise="handled exceptions")
def a_c_library_calls_exit(stage: Stage) -> None:
    def fetch(block: Any) -> Any:
        import ctypes

        time.sleep(0.2)
        ctypes.CDLL(None)._exit(17)
        return block

    import dask.array as da

    with stage.local(3, threads_per_worker=2) as client:
        wait(client.submit(divmod, 1, 0))
        x = da.ones(6, chunks=3)
        x.map_blocks(fetch, dtype=float, meta=x._meta).compute()


# worker-signalled


def _kill_executing(client: Any, name: int, times: int = 1) -> None:
    """Kill whoever runs a task of a name, as an operator does, so many times."""
    killed: set[int] = set()
    while len(killed) < times:
        time.sleep(0.2)
        try:
            pids = client.run(os.getpid)
            busy = client.processing()
        except OSError:
            continue
        for address, keys in busy.items():
            if keys and pids.get(address) not in killed | {None}:
                os.kill(pids[address], name)
                killed.add(pids[address])
                break


@failure("worker-signalled", names=["SIGKILL|signal 9", "crunch"], allowed=0)
def an_operator_kills_the_worker(stage: Stage) -> None:
    def crunch(number: int) -> int:
        time.sleep(8)
        return number

    with stage.local(2) as client:
        future = client.submit(crunch, 1)
        later(1.5, _kill_executing, client, signal.SIGKILL)
        future.result()


@failure("worker-signalled", names=["SIGTERM|signal 15", "index_pages"], allowed=1)
def somebody_terminates_two_workers(stage: Stage) -> None:
    @delayed
    def index_pages(number: int) -> int:
        time.sleep(12)
        return number

    with stage.started(2) as (client, _):
        later(1.5, _kill_executing, client, signal.SIGTERM, 2)
        later(5, _kill_executing, client, signal.SIGTERM, 2)
        dask.compute(index_pages(1))


@failure(
    "worker-signalled", names=["SIGXCPU|signal 24|SIGKILL|signal 9"], allowed=0,
    noise="healthy work before",
)  # fmt: skip
def the_processor_time_is_limited(stage: Stage) -> None:
    def spin(seconds: float) -> int:
        until, count = time.process_time() + seconds, 0
        while time.process_time() < until:
            count += 1
        return count

    with stage.started(1, shell="ulimit -t 8") as (client, _):
        client.gather(client.map(abs, range(40)))
        client.submit(spin, 30).result()


@failure("worker-signalled", names=["SIGALRM|signal 14", "query"], allowed=1)
def a_timeout_by_alarm(stage: Stage) -> None:
    def query(number: int) -> int:
        import ctypes

        ctypes.CDLL(None).alarm(1)  # whose handler is the default: it ends the process
        time.sleep(5)
        return number

    with stage.local(2, threads_per_worker=2) as client:
        client.submit(query, 5).result()

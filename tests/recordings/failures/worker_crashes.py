"""Workers that crash in native code: segmentation faults and aborts."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, as_completed, get_worker
from failures.shared_parts import allocate
from staging import NotHere, Stage, delayed, failure


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


@failure(
    "worker-abort",
    names=["close_handle", "SIGABRT|abort|signal 6"],
    allowed=1,
    held_out="second",
)
def an_extension_frees_twice(stage: Stage) -> None:
    @delayed
    def close_handle(number: int) -> int:
        buffer = ctypes.create_string_buffer(256)
        if number == 2:
            ctypes.CDLL(None).free(ctypes.c_void_p(ctypes.addressof(buffer) + 24))
        return number

    with stage.started(2):
        dask.compute(*[close_handle(n) for n in range(4)])


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


@failure(
    "worker-abort",
    names=["factorise", "SIGABRT|[Aa]bort"],
    allowed=2,
    held_out="third: deaths",
)
def an_assertion_of_a_c_library_fails(stage: Stage) -> None:
    library = compiled(stage.folder, SOLVER)

    def factorise(size: int) -> int:
        return int(ctypes.CDLL(library).solve(size))

    with stage.local(2, security=True) as client:
        sizes = db.from_sequence([2, 4, 8, 3, 16, 1], npartitions=6)
        assert client.security.require_encryption
        sizes.map(factorise).sum().compute()


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


@failure(
    "worker-segfault", names="warp", allowed=1, noise="handled deaths of other sorts"
)
def a_crash_after_other_deaths(stage: Stage) -> None:
    def warp(block: Any) -> Any:
        import ctypes

        time.sleep(0.2)
        ctypes.string_at(8)
        return block

    with stage.local(2, memory_limit="400MiB") as client:
        assert client.submit(os._exit, 2).exception() is not None
        assert client.submit(allocate, 700).exception() is not None
        client.submit(warp, 1).result()


@failure("worker-segfault", names="walk", allowed=0, held_out="first")
def a_recursion_overflows_the_stack(stage: Stage) -> None:
    def walk(number: int) -> int:
        sys.setrecursionlimit(10**8)

        def down(depth: int) -> int:
            return max([depth], key=lambda d: down(d + 1))

        return down(number)

    with stage.local(2) as client:
        client.submit(walk, 0).result()


@failure(
    "worker-segfault",
    "worker-signalled",
    names=["SIGBUS|signal 7|bus", "read_tile"],
    allowed=1,
    why="SIGBUS is a crash in native code, and a signal",
    accepted="its second attempt met an empty file and raised",
    held_out="first",
)
def a_mapped_file_is_truncated(stage: Stage) -> None:
    def read_tile(path: str) -> int:
        import mmap

        with Path(path).open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            os.truncate(path, 0)
            time.sleep(0.3)
            return mapped[1 << 19]

    with stage.local(2, threads_per_worker=2) as client:
        path = stage.folder / "tile.bin"
        for _ in range(3):
            path.write_bytes(bytes(1 << 20))
        client.gather([client.submit(read_tile, str(path), key="read_tile-1")])


@failure(
    "worker-segfault",
    names=["fill_gaps", "SIGSEGV|segfault|signal 11"],
    allowed=1,
    held_out="second",
)
def native_code_writes_where_it_must_not(stage: Stage) -> None:
    def fill_gaps(frame: pd.DataFrame) -> pd.DataFrame:
        if frame["n"].min() > 60:
            ctypes.memset(0x10, 0, 8)
        return frame

    with stage.local(3):
        frame = dd.from_pandas(pd.DataFrame({"n": range(100)}), npartitions=4)
        frame.map_partitions(fill_gaps, meta=frame._meta).sum().compute()


def decode(block: Any, *, codec: int = 0) -> Any:
    """Decode a block with a library that doesn't check what it reads."""
    if codec and block[0, 0] >= codec:
        ctypes.memset(codec, 0, block.nbytes)
    return block * 2


@failure(
    "worker-segfault",
    names=["decode", "SIGSEGV|[Ss]egmentation|segfault"],
    held_out="third: deaths",
)
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
    held_out="third: deaths",
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
    held_out="third: deaths",
)
def it_crashes_where_no_nanny_looks(stage: Stage) -> None:
    def lookup(key: int) -> bytes:
        time.sleep(0.2)
        return ctypes.string_at(8 if key == 11 else id(key), 4)

    with stage.started(2, "--no-nanny") as (client, _):
        client.gather(client.map(lookup, range(16)))


@failure(
    "worker-segfault",
    names=["SIGSEGV|native", "parsed"],
    noise="its first attempt raises",
    allowed=0,
    held_out="third: tasks",
)
def an_exception_then_a_crash(stage: Stage) -> None:
    def parsed(number: int, folder: str) -> int:
        time.sleep(0.3)
        mark = Path(folder) / "tried"
        if number == 3 and not mark.exists():
            mark.touch()
            raise BlockingIOError(11, "the cache is locked by another process")
        if number == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        return number

    with stage.local(2) as client:
        client.gather(client.map(parsed, range(8), folder=str(stage.folder), retries=3))

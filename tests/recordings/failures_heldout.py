"""Failures of kinds that the corpus does not have: reported once, after all tuning.

What came out then is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Semaphore, wait
from staging import Stage, delayed, later, until
from staging import failure as any_failure

failure = partial(any_failure, held_out="first")


@failure("task-exception", names=["TypeError|NoneType", "score"])
def an_executor_of_futures(stage: Stage) -> None:
    def score(number: int) -> Any:
        return None if number != 7 else None + number  # type: ignore[operator]

    with stage.local(2) as client, client.get_executor() as pool:
        list(pool.map(score, range(20)))


@failure("task-exception", names=["CalledProcessError", "transcode"])
def a_child_of_a_task_is_killed(stage: Stage) -> None:
    def transcode(number: int) -> int:
        text = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        subprocess.run([sys.executable, "-c", text], check=True)
        return number

    with stage.started(2) as (client, _):
        client.gather(client.map(transcode, range(4)))


@failure("worker-exit", names=["check_config", "1"], allowed=1)
def a_task_quits_with_a_message(stage: Stage) -> None:
    @delayed
    def check_config(path: str) -> str:
        if not Path(path).exists():
            raise SystemExit(f"{path} is missing")
        return path

    with stage.started(2, "--nthreads", "2"):
        dask.compute(*[check_config(f"/nonexistent/{n}.ini") for n in range(3)])


@failure("worker-segfault", names="walk", allowed=0)
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


@failure("worker-preempted", names="reproject", allowed=0)
def an_operator_presses_ctrl_c_on_a_worker(stage: Stage) -> None:
    def reproject(block: Any) -> Any:
        time.sleep(10)
        return block

    import dask.array as da

    with stage.started(1, "--nthreads", "2") as (_, cluster):
        later(3, cluster.workers[0].send_signal, signal.SIGINT)
        x = da.ones(8, chunks=4)
        x.map_blocks(reproject, dtype=float, meta=x._meta).compute()


@failure("stalled", names="write_row", hang=True)
def a_semaphore_that_is_never_released(stage: Stage) -> None:
    def write_row(number: int, leases: Any) -> int:
        leases.acquire()
        return number

    with stage.local(2) as client:
        leases = Semaphore(max_leases=2, name="database")
        futures = client.map(write_row, range(8), leases=leases)
        client.submit(sum, futures).result(timeout=14)


@failure("cannot-connect", names="8787|http|scheme|listen", how="command")
def the_address_of_the_dashboard_is_given(stage: Stage) -> None:
    import http.server
    import threading

    server = http.server.HTTPServer(
        ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Client(f"tcp://127.0.0.1:{server.server_port}", timeout=5)


@failure("driver-killed", names="SIGTERM|signal 15|-15|143|terminated", how="command")
def the_batch_system_ends_the_driver(stage: Stage) -> None:
    with stage.local(2) as client:
        later(3, os.kill, os.getpid(), signal.SIGTERM)
        client.gather(client.map(time.sleep, [0.3] * 100, pure=False))


@failure("no-valid-worker", names="pinned|restrict|worker", hang=True)
def work_is_pinned_to_a_worker_that_restarted(stage: Stage) -> None:
    def pinned(number: int) -> int:
        return number

    with stage.local(2) as client:
        address, pid = next(iter(client.run(os.getpid).items()))
        os.kill(pid, signal.SIGKILL)
        until(lambda: address not in client.scheduler_info(n_workers=-1)["workers"])
        client.submit(pinned, 1, workers=[address]).result(timeout=12)


@failure(
    "workers-paused",
    names="paused",
    hang=True,
    settings={
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.terminate": False,
    },
)
def results_are_kept_and_spilling_is_off(stage: Stage) -> None:
    import numpy as np

    def tile(seed: int) -> Any:
        time.sleep(0.2)
        return np.random.default_rng(seed).random(4_000_000)

    with stage.local(2, memory_limit="450MiB") as client:
        tiles = client.map(tile, range(40))
        wait(tiles, timeout=20)


@failure("cancelled", names="restart")
def the_driver_restarts_its_own_cluster(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        futures = client.map(time.sleep, [0.5] * 60, pure=False)
        time.sleep(1.5)
        client.restart(wait_for_workers=False)
        client.gather(futures)


@failure("worker-lifetime", names="aggregate", allowed=0)
def a_lifetime_with_restarts(stage: Stage) -> None:
    @delayed
    def aggregate(number: int) -> int:
        time.sleep(40)
        return number

    options = ["--lifetime", "7s", "--lifetime-restart", "--lifetime-stagger", "1s"]
    with stage.started(2, *options):
        dask.compute(aggregate(1), aggregate(2))


@failure(
    "task-memory-error",
    names=["Unable to allocate|MemoryError", "pivot"],
    accepted="workers died seven times before a task raised",
)
def a_pivot_of_too_many_values(stage: Stage) -> None:
    import dask.dataframe as dd
    import numpy as np
    import pandas as pd

    def pivot(frame: pd.DataFrame) -> pd.DataFrame:
        rows = np.arange(3_000_000)
        return pd.DataFrame(index=rows, columns=rows, dtype="f8").fillna(0).head(0)

    with stage.local(2):
        frame = dd.from_pandas(pd.DataFrame({"a": range(100)}), npartitions=4)
        frame.map_partitions(pivot, meta={"a": "f8"}).compute()

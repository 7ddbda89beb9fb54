"""Workers that exit by themselves: a task ends the process, a lifetime is over."""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import wait
from distributed.scheduler import KilledWorker
from failures.shared_parts import simulate, slow
from staging import Stage, delayed, failure


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


@failure(
    "worker-exit",
    names=["ConnectionError", "upload"],
    allowed=0,
    noise="a retried task",
)
def a_retried_task_meets_a_dying_worker(stage: Stage) -> None:
    mark = stage.folder / "tried"

    def upload(path: str) -> None:
        if not Path(path).exists():
            Path(path).touch()
            raise ConnectionError("the bucket did not answer")
        time.sleep(0.3)
        os._exit(4)

    with stage.started(2) as (client, _):
        client.submit(upload, str(mark), retries=3).result()


@failure("worker-exit", names=["check_config", "1"], allowed=1, held_out="first")
def a_task_quits_with_a_message(stage: Stage) -> None:
    @delayed
    def check_config(path: str) -> str:
        if not Path(path).exists():
            raise SystemExit(f"{path} is missing")
        return path

    with stage.started(2, "--nthreads", "2"):
        dask.compute(*[check_config(f"/nonexistent/{n}.ini") for n in range(3)])


@failure("worker-exit", names=["convert", "2"], allowed=0, held_out="second")
def an_argument_parser_inside_of_a_task(stage: Stage) -> None:
    def convert(words: list[str]) -> str:
        parser = argparse.ArgumentParser("convert")
        parser.add_argument("--scale", type=int, required=True)
        return str(parser.parse_args(words).scale)

    with stage.local(2) as client:
        client.gather(client.map(convert, [["--scale", "1"], ["--scale", "x"]]))


@failure(
    "worker-exit",
    "task-exception",
    names="prompt",
    allowed=0,
    why="KeyboardInterrupt inside of a task ends its worker as SystemExit does",
    held_out="second",
)
def a_keyboard_interrupt_inside_of_a_task(stage: Stage) -> None:
    def prompt(number: int) -> int:
        if number == 2:
            raise KeyboardInterrupt
        return number

    with stage.local(2) as client:
        client.gather(client.map(prompt, range(4)))


def main(arguments: Sequence[str]) -> float:
    """Be a command line tool, of which somebody calls `main`."""
    parser = argparse.ArgumentParser(prog="convert")
    parser.add_argument("--scale", type=float, required=True)
    return float(parser.parse_args(list(arguments)).scale)


@failure(
    "worker-exit",
    names=["convert_file", r"\b2\b"],
    allowed=0,
    bound=80,
    held_out="third: deaths",
)
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
    held_out="third: deaths",
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
    held_out="third: deaths",
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


@failure("worker-exit", names=["code 2|status 2", "parsed"], held_out="third: tasks")
def a_command_line_is_parsed_in_a_task(stage: Stage) -> None:
    def parsed(words: list[str]) -> str:
        parser = argparse.ArgumentParser(prog="etl")
        parser.add_argument("--day", type=int, required=True)
        return str(parser.parse_args(words))

    with stage.local(2) as client:
        lines = [["--day", "1"], ["--day", "2"], ["--day", "tuesday"]]
        client.gather([client.submit(parsed, each, pure=False) for each in lines])


@failure(
    "worker-exit",
    "stalled",
    names=["SystemExit|exit"],
    bound=40,
    hang=True,
    why="it ends the event loop of a cluster of threads, and nothing runs any more",
    accepted="not known: the loop dies with the thread",
    held_out="fourth: tasks",
)
def a_task_exits_in_a_thread_of_the_driver(stage: Stage) -> None:
    def checked(row: int) -> int:
        if row == 13:
            sys.exit("row 13 is not valid")
        return row

    with stage.local(1, threads_per_worker=2, processes=False) as client:
        client.gather(client.map(checked, range(20)))


@failure("worker-lifetime", names="simulate", allowed=0)
def a_task_outlives_its_worker(stage: Stage) -> None:
    def simulate(number: int) -> int:
        time.sleep(30)
        return number

    with stage.started(1, "--lifetime", "6s") as (client, _):
        client.submit(simulate, 1).result(timeout=40)


@failure("worker-lifetime", allowed=0, noise="handled exceptions")
def all_workers_end_their_lives_at_once(stage: Stage) -> None:
    import dask.array as da

    def slow_block(block: Any) -> Any:
        time.sleep(25)
        return block

    with stage.started(2, "--lifetime", "7s", "--nthreads", "2") as (client, _):
        wait(client.submit(divmod, 1, 0))
        x = da.ones(8, chunks=2)
        x.map_blocks(slow_block, dtype=float, meta=x._meta).sum().compute()


@failure("worker-lifetime", hang=True, how="command")
def nobody_comes_after_the_lifetime(stage: Stage) -> None:
    with stage.started(1, "--lifetime", "6s", "--no-nanny") as (client, _):
        futures = client.map(slow, range(40), [0.5] * 40)
        client.submit(sum, futures).result(timeout=25)


@failure("worker-lifetime", names="aggregate", allowed=0, held_out="first")
def a_lifetime_with_restarts(stage: Stage) -> None:
    @delayed
    def aggregate(number: int) -> int:
        time.sleep(40)
        return number

    options = ["--lifetime", "7s", "--lifetime-restart", "--lifetime-stagger", "1s"]
    with stage.started(2, *options):
        dask.compute(aggregate(1), aggregate(2))


@failure(
    "worker-lifetime",
    names=["lifetime", "annotate_reads"],
    hang=True,
    held_out="second",
)
def a_walltime_ends_the_only_worker(stage: Stage) -> None:
    def annotate_reads(number: int) -> int:
        time.sleep(25)
        return number

    with stage.started(1, "--lifetime", "8s", "--no-nanny") as (client, _):
        wait(client.map(annotate_reads, range(2)), timeout=30)


@failure(
    "worker-lifetime",
    names=["simulate|lifetime"],
    settings={"blackbox.stall.after": "4s"},
    held_out="third: deaths",
)
def the_walltime_of_all_workers_ends(stage: Stage) -> None:
    with stage.started(2, "--lifetime", "12s") as (client, _):
        short = client.map(simulate, range(8), seconds=0.2)
        wait(short)
        long = client.map(simulate, range(8, 40), seconds=1.5)
        client.submit(sum, [*short, *long]).result(timeout=28)


@failure(
    "worker-lifetime",
    names=["simulate", "lifetime"],
    noise="a neighbour lives on",
    accepted="one life ended; the wait was too short",
    held_out="third: deaths",
)
def tasks_are_longer_than_the_life_of_a_worker(stage: Stage) -> None:
    options = ["--lifetime", "8s", "--lifetime-stagger", "1s", "--lifetime-restart"]
    with stage.started(1, *options) as (client, cluster):
        cluster.start_worker("--nthreads", "1")
        client.wait_for_workers(2, timeout=40)
        client.submit(sum, client.map(simulate, range(6), seconds=25)).result(
            timeout=35
        )

"""A third set held out: hangs of all kinds, nested clients, work that was called off.

Written by somebody who had read no rule.  What came out the first time is written down in
`heldout.json`, and stays.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import threading
import time
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
from distributed import (
    Client,
    Event,
    Lock,
    Queue,
    Semaphore,
    Variable,
    as_completed,
    fire_and_forget,
    get_worker,
    wait,
    worker_client,
)
from staging import Stage, delayed, later, until
from staging import failure as any_failure

failure = partial(any_failure, held_out="third: services")


@failure("stalled", hang=True, names=["db-pool|[Ss]emaphore", "export"])
def the_driver_keeps_the_only_lease(stage: Stage) -> None:
    def export(number: int, pool: Semaphore) -> int:
        with pool:
            time.sleep(0.1)
            return number

    with stage.local(2) as client:
        pool = Semaphore(max_leases=1, name="db-pool")
        pool.acquire()  # to check the schema, and never given back
        tables = client.map(export, range(6), pool=pool)
        wait(tables, timeout=15)


@failure("stalled", hang=True, names=["ledger|accounts|[Ll]ock", "transfer|settle"])
def two_tasks_take_two_locks_crosswise(stage: Stage) -> None:
    def transfer() -> str:
        with Lock("accounts"):
            Event("first").set()
            Event("second").wait()
            with Lock("ledger"):
                return "transferred"

    def settle() -> str:
        with Lock("ledger"):
            Event("second").set()
            Event("first").wait()
            with Lock("accounts"):
                return "settled"

    with stage.local(1, threads_per_worker=3) as client:
        small = client.map(lambda n: n + 1, range(50))
        both = [delayed(transfer)(), delayed(settle)()]
        print(sum(client.gather(small)))
        futures = client.compute(both)
        for future in as_completed(futures, timeout=15):
            print(future.result())


@failure("stalled", hang=True, names=["schema", "Variable|variable|get"], bound=25)
def a_variable_is_set_under_another_name(stage: Stage) -> None:
    def typed(part: pd.DataFrame) -> pd.DataFrame:
        types = Variable("schema").get()
        return part.astype(types)

    with stage.local(2):
        Variable("schema-v2").set({"a": "float64"})
        frame = dd.from_pandas(pd.DataFrame({"a": range(400)}), npartitions=4)
        print(frame.map_partitions(typed, meta={"a": "float64"}).a.sum().compute())


@failure(
    "stalled",
    hang=True,
    names=["wait_for_marker|_SUCCESS"],
    bound=25,
    noise="the host ends the run",
)
def a_marker_file_never_appears(stage: Stage) -> None:
    def wait_for_marker(folder: str) -> str:
        marker = Path(folder) / "_SUCCESS"
        while not marker.exists():
            time.sleep(0.5)
        return folder

    def loaded(folder: str) -> int:
        return len(list(Path(folder).iterdir()))

    with stage.local(2) as client:
        days = [f"/data/landing/day={day:02}" for day in range(1, 4)]
        bag = db.from_sequence(days, npartitions=3).map(wait_for_marker).map(loaded)
        print(client.submit(sum, [1, 2]).result())
        print(bag.sum().compute())


@failure("stalled", hang=True, names=["next_page|download"])
def a_cursor_always_points_to_a_next_page(stage: Stage) -> None:
    def next_page(cursor: str) -> tuple[list[int], str]:
        return [len(cursor)], "page-2" if cursor == "page-1" else "page-1"

    def download(source: str) -> int:
        cursor, rows = "page-1", 0
        while cursor:
            page, cursor = next_page(cursor)
            rows += len(page) if source == "legacy" else len(page) * 10
            if source != "legacy" and rows > 100:
                return rows
        return rows

    with stage.local(2) as client:
        futures = client.map(download, ["eu", "us", "legacy", "apac"])
        print(client.gather(futures[:2]))
        print(futures[2].result(timeout=15))


@failure(
    "stalled",
    hang=True,
    names=["fetched|urlopen|recv|readinto", "tile"],
    noise="two of three answer; memory is near the warning",
)
def a_server_accepts_and_never_answers(stage: Stage) -> None:
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(16)
    url = f"http://127.0.0.1:{silent.getsockname()[1]}/tile"

    def fetched(number: int) -> int:
        kept = bytearray(180_000_000)
        if number % 3:
            return len(kept)
        with urllib.request.urlopen(f"{url}/{number}.tif") as answer:
            return len(answer.read())

    async def main(address: str) -> list[int]:
        async with Client(address, asynchronous=True) as client:
            tiles = client.map(fetched, range(6), key="tile")
            return list(await asyncio.wait_for(client.gather(tiles), 15))

    with stage.local(2, memory_limit="300MiB", processes=True) as client:
        print(asyncio.run(main(client.scheduler_info()["address"])))


@failure(
    "stalled",
    hang=True,
    names=["results|[Qq]ueue"],
    bound=25,
    noise="the cluster is idle: it is the driver that waits",
)
def the_driver_waits_for_one_message_too_many(stage: Stage) -> None:
    def worked(number: int) -> None:
        time.sleep(0.1)
        if number != 5:  # an early return, that was forgotten
            Queue("results").put(number * number)

    with stage.local(2) as client:
        results = Queue("results")
        for number in range(12):
            fire_and_forget(client.submit(worked, number))
        print(sum(results.get() for _ in range(12)))


@failure("stalled", hang=True, names=["go-ahead|[Ee]vent"], how="command")
def nobody_gives_the_go_ahead(stage: Stage) -> None:
    class Stepper:
        def __init__(self, name: str) -> None:
            self.name = name

        def step(self, field: Any) -> Any:
            if not field.size:
                return field
            Event("go-ahead").wait()
            return field * 2

    with stage.local(2, processes=False, threads_per_worker=2):
        field = da.ones((200, 200), chunks=(100, 100))
        moved = field.map_blocks(Stepper("advection").step, dtype=float)
        future = moved.sum().persist()
        wait(future, timeout=12)


@failure("stalled", hang=True, names=["Tally|drained|actor"])
def an_actor_waits_for_itself(stage: Stage) -> None:
    class Tally:
        def __init__(self) -> None:
            self.count = 0
            self.full = threading.Event()

        def add(self, number: int) -> int:
            self.count += number
            return self.count

        def drained(self) -> int:
            self.full.wait()
            return self.count

    with stage.local(2) as client:
        tally: Any = client.submit(Tally, actor=True).result()
        for number in range(5):
            print(tally.add(number).result())
        print(tally.drained().result(timeout=15))


@failure(
    "stalled", hang=True, names=["converted|ffconvert|communicate|subprocess|wait"]
)
def a_program_waits_for_an_answer_of_its_own(stage: Stage) -> None:
    program = stage.folder / "ffconvert"
    program.write_text("#!/bin/sh\necho 'overwrite out.mp4? [y/N]'\nread answer < $1\n")
    program.chmod(0o755)
    pipe = stage.folder / "answers"
    subprocess.run(["mkfifo", str(pipe)], check=True)

    def converted(number: int) -> int:
        done = subprocess.run(
            [str(program), str(pipe)], capture_output=True, check=True
        )
        return number + len(done.stdout)

    with stage.local(2) as client, client.get_executor(retries=2) as pool:
        futures = [pool.submit(converted, number) for number in range(3)]
        print([future.result(timeout=15) for future in futures])


@failure(
    "stalled",
    hang=True,
    names=["warmed|client.run|event loop"],
    bound=25,
    noise="the worker's event loop is what waits, not a task",
)
def a_function_of_client_run_never_returns(stage: Stage) -> None:
    def warmed() -> int:
        while not Path("/var/cache/models/ready").exists():
            time.sleep(0.2)
        return 1

    with stage.local(2) as client:
        print(client.submit(sum, [1, 2]).result())
        print(client.run(warmed))
        print(client.submit(sum, [1, 2, 3]).result())


@failure("nested-client-deadlock", hang=True, names=["region"])
def tasks_open_clients_of_their_own(stage: Stage) -> None:
    def cell(number: int) -> int:
        return number * number

    def region(number: int, address: str) -> int:
        with Client(address, set_as_default=False) as inner:
            cells = inner.map(cell, range(number, number + 5))
            return sum(inner.gather(cells))

    with stage.started(2) as (client, cluster):
        regions = [delayed(region)(number, cluster.address) for number in range(4)]
        future = client.compute(delayed(sum)(regions))
        print(future.result(timeout=15))


@failure("nested-client-deadlock", hang=True, names=["tuned"])
def a_worker_client_keeps_its_thread(stage: Stage) -> None:
    def loss(rate: float) -> float:
        time.sleep(0.1)
        return (rate - 0.3) ** 2

    def tuned(start: float) -> float:
        if get_worker() is None:
            return start
        with worker_client(separate_thread=False) as client:
            losses = client.map(loss, [start + step / 10 for step in range(5)])
            return float(min(client.gather(losses)))

    with stage.local(2) as client:
        best = client.map(tuned, [0.1, 0.2, 0.3], key="tuned")
        print(wait(best, timeout=15))


@failure("cancelled", names=["nightly window"], noise="others finished before")
def a_watchdog_calls_the_night_off(stage: Stage) -> None:
    def priced(number: int) -> int:
        time.sleep(1)
        return number

    with stage.local(2) as client:
        prices = client.map(priced, range(40))
        until(lambda: sum(each.done() for each in prices) > 5)
        reason = {"reason": "sla", "msg": "the nightly window is over at 05:00"}
        later(2, partial(client.cancel, prices, **reason))
        print(sum(future.result() for future in as_completed(prices)))


@failure("cancelled", names=["restart"], noise="a neighbour on a shared cluster")
def a_colleague_restarts_the_shared_cluster(stage: Stage) -> None:
    def cube(number: int) -> int:
        time.sleep(0.5)
        return number**3

    with stage.started(2) as (client, cluster):
        lazy = [dask.delayed(cube)(number) for number in range(60)]
        kept = dask.persist(*lazy)
        until(lambda: sum(map(len, client.has_what().values())) > 4)
        with stage.neighbour(cluster.address, "client.restart()"):
            print(sum(dask.compute(*kept)))

"""Runs that stall without an exception, and tasks that wait for other tasks."""

from __future__ import annotations

import asyncio
import fcntl
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

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
    get_client,
    get_worker,
    wait,
    worker_client,
)
from failures.shared_parts import END
from staging import Stage, delayed, failure


@failure("nested-client-deadlock", names="outer|process_day", hang=True)
def all_threads_wait_for_their_own_tasks(stage: Stage) -> None:
    def part(number: int) -> int:
        return number

    def process_day(day: int) -> int:
        client = get_client()
        futures = client.map(part, range(day, day + 5))
        return sum(client.gather(futures))

    with stage.local(2) as client:
        client.submit(sum, client.map(process_day, range(4))).result(timeout=14)


@failure("nested-client-deadlock", names="fan_out", settings=END)
def a_client_is_made_inside_of_a_task(stage: Stage) -> None:
    @delayed
    def fan_out(address: str) -> int:
        with Client(address) as client:
            return sum(client.gather(client.map(abs, range(5))))

    with stage.started(1) as (_, cluster):
        fan_out(cluster.address).compute()


@failure("nested-client-deadlock", names="grid_search", hang=True, noise="healthy work")
def more_searches_than_threads(stage: Stage) -> None:
    def grid_search(number: int) -> int:
        with_client = get_client()
        return int(with_client.submit(pow, number, 2).result())

    with stage.started(1, "--nthreads", "4") as (client, _):
        client.gather(client.map(abs, range(30)))
        client.gather(client.map(grid_search, range(4)))
        futures = client.map(grid_search, range(10, 18))
        client.submit(sum, futures).result(timeout=14)


@failure("nested-client-deadlock", names=["month", "day"], hang=True, held_out="second")
def tasks_wait_for_tasks_on_all_threads(stage: Stage) -> None:
    def day(number: int) -> int:
        return number + 1

    def month(number: int) -> int:
        futures = get_client().map(day, range(number * 40, number * 40 + 30))
        return sum(each.result() for each in as_completed(futures))

    with stage.local(2) as client:
        client.submit(sum, client.map(month, range(4))).result(timeout=16)


@failure(
    "nested-client-deadlock", hang=True, names=["region"], held_out="third: services"
)
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


@failure(
    "nested-client-deadlock", hang=True, names=["tuned"], held_out="third: services"
)
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


@failure(
    "nested-client-deadlock",
    names=["tile_statistics"],
    hang=True,
    bound=25,
    held_out="fourth: services",
)
def tasks_use_an_executor_of_their_own_cluster(stage: Stage) -> None:
    def square(number: int) -> int:
        return number * number

    def tile_statistics(size: int) -> int:
        with get_client().get_executor() as pool:
            return sum(pool.map(square, range(size)))

    with stage.started(2) as (client, _):
        sizes = [delayed(tile_statistics)(size) for size in (3, 4, 5)]
        client.compute(delayed(max)(sizes)).result()


@failure("stalled", names="wait_for_go", hang=True)
def an_event_that_nobody_sets(stage: Stage) -> None:
    def wait_for_go(number: int) -> int:
        Event("go").wait()
        return number

    with stage.local(2) as client:
        client.submit(sum, client.map(wait_for_go, range(3))).result(timeout=12)


@failure("stalled", names="left|right|transfer", settings=END)
def two_locks_in_two_orders(stage: Stage) -> None:
    def transfer(one: str, two: str) -> str:
        with Lock(one):
            time.sleep(1)
            with Lock(two):
                return one + two

    with stage.local(2) as client:
        client.gather(client.map(transfer, ["left", "right"], ["right", "left"]))


@failure("stalled", names="consume", hang=True, noise="handled exceptions")
def a_consumer_without_a_producer(stage: Stage) -> None:
    @delayed
    def consume(name: str) -> Any:
        return Queue(name).get()

    with stage.started(1, "--nthreads", "2") as (client, _):
        wait(client.submit(divmod, 1, 0))
        client.compute(consume("orders")).result(timeout=12)


@failure("stalled", names="download", hang=True)
def a_server_that_accepts_and_says_nothing(stage: Stage) -> None:
    import socket

    def download(port: int) -> bytes:
        import socket as sockets

        with sockets.create_connection(("127.0.0.1", port)) as connection:
            return connection.recv(100)

    with socket.socket() as server, stage.local(2) as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        futures = client.map(download, [server.getsockname()[1]])
        client.submit(len, futures).result(timeout=12)


@failure("stalled", names=["hold", "Event"], hang=True)
def an_asynchronous_driver_waits_in_vain(stage: Stage) -> None:
    import asyncio

    def hold(number: int) -> int:
        Event("go").wait()
        return number

    async def main(address: str) -> None:
        async with Client(address, asynchronous=True) as client:
            await asyncio.wait_for(asyncio.gather(*client.map(hold, range(3))), 14)

    with stage.started(2) as (_, cluster):
        asyncio.run(main(cluster.address))


@failure("stalled", names="write_row", hang=True, held_out="first")
def a_semaphore_that_is_never_released(stage: Stage) -> None:
    def write_row(number: int, leases: Any) -> int:
        leases.acquire()
        return number

    with stage.local(2) as client:
        leases = Semaphore(max_leases=2, name="database")
        futures = client.map(write_row, range(8), leases=leases)
        client.submit(sum, futures).result(timeout=14)


@failure("stalled", names="write_partition", hang=True, held_out="second")
def a_lock_is_held_by_a_finished_task(stage: Stage) -> None:
    def write_partition(number: int) -> int:
        Lock("table").acquire()
        return number

    with stage.local(2) as client:
        for each in client.map(write_partition, range(4)):
            each.result(timeout=8)


@failure("stalled", names="consume", hang=True, held_out="second")
def a_queue_that_nobody_fills(stage: Stage) -> None:
    def consume(number: int) -> Any:
        return Queue("orders", client=get_client()).get()

    with stage.local(2) as client:
        Queue("orders", client=client)
        futures = client.map(consume, range(3))
        for each in as_completed(futures, timeout=16):
            each.result()


@failure("stalled", names="await_signal", hang=True, held_out="second")
def a_dataframe_waits_for_an_event(stage: Stage) -> None:
    def await_signal(frame: pd.DataFrame) -> pd.DataFrame:
        Event("inputs-are-complete").wait()
        return frame

    with stage.started(2) as (client, _):
        frame = dd.from_pandas(pd.DataFrame({"n": range(20)}), npartitions=3)
        made = frame.map_partitions(await_signal, meta=frame._meta)
        client.compute(made).result(timeout=16)


@failure(
    "stalled",
    hang=True,
    names=["db-pool|[Ss]emaphore", "export"],
    held_out="third: services",
)
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


@failure(
    "stalled",
    hang=True,
    names=["ledger|accounts|[Ll]ock", "transfer|settle"],
    held_out="third: services",
)
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


@failure(
    "stalled",
    hang=True,
    names=["schema", "Variable|variable|get"],
    bound=25,
    held_out="third: services",
)
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
    held_out="third: services",
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


@failure("stalled", hang=True, names=["next_page|download"], held_out="third: services")
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
    held_out="third: services",
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
    held_out="third: services",
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


@failure(
    "stalled",
    hang=True,
    names=["go-ahead|[Ee]vent"],
    how="command",
    held_out="third: services",
)
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


@failure(
    "stalled", hang=True, names=["Tally|drained|actor"], held_out="third: services"
)
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
    "stalled",
    hang=True,
    names=["converted|ffconvert|communicate|subprocess|wait"],
    held_out="third: services",
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
    held_out="third: services",
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


@failure(
    "stalled", names=["train_part"], hang=True, bound=25, held_out="fourth: services"
)
def a_rendezvous_needs_three_threads_where_two_are(stage: Stage) -> None:
    def track(listener: socket.socket) -> None:
        ranks = [listener.accept()[0] for _ in range(3)]
        for rank in ranks:
            rank.sendall(b"go")

    def train_part(port: int, rank: int) -> int:
        with socket.create_connection(("127.0.0.1", port)) as tracker:
            tracker.recv(2)
        return rank

    with stage.local() as client, socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=track, args=(listener,), daemon=True).start()
        port = listener.getsockname()[1]
        client.gather([client.submit(train_part, port, rank) for rank in range(3)])


class TaskTimeout(BaseException):
    """What a host raises in a driver whose time is over."""


@failure(
    "stalled",
    names=["append_month"],
    hang=True,
    how="command",
    noise="the host's execution timeout ends the wait",
    held_out="fourth: services",
)
def a_file_is_locked_by_the_driver_itself(stage: Stage) -> None:
    def over(number: int, frame: object) -> NoReturn:
        raise TaskTimeout("Timeout, PID: 4711")

    def append_month(path: Path, month: int) -> int:
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(month * 8)
            return file.write(month.to_bytes(8))

    path = stage.folder / "climate.h5"
    path.write_bytes(bytes(96))
    signal.signal(signal.SIGALRM, over)
    with stage.local() as client, path.open("r+b") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        signal.alarm(14)
        client.gather(client.map(partial(append_month, path), range(12)))


@failure(
    "stalled",
    names=["failures_fourth_hangs|wait"],
    hang=True,
    bound=25,
    noise="all tasks have ended: it is the driver that waits",
    accepted="it was ended from outside",
    held_out="fourth: services",
)
def the_driver_waits_for_a_program_that_never_ends(stage: Stage) -> None:
    log = stage.folder / "upload.log"
    log.touch()

    def render(page: int) -> str:
        return f"<p>{page}</p>"

    with stage.local() as client:
        pages = client.gather(client.map(render, range(12)))
        (stage.folder / "report.html").write_text("".join(pages))
        with subprocess.Popen(["tail", "-f", str(log)]) as upload:
            upload.wait()

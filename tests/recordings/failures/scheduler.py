"""Schedulers that are lost, and processes with too many open files."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError

import dask
from containers import container
from distributed import Client, get_worker, wait
from failures.shared_parts import simulate
from staging import Stage, delayed, failure, later, until


@failure(
    "scheduler-lost",
    noise="retries, handled exceptions, another driver, a flood of closed comms",
)
def the_scheduler_goes_while_much_happens(stage: Stage) -> None:
    def flaky(number: int, folder: str) -> int:
        mark = Path(folder, str(number))
        if number % 3 == 0 and not mark.exists():
            mark.touch()
            raise ConnectionError("try again")
        time.sleep(0.1)
        return number

    with stage.started(4, "--nthreads", "2") as (client, cluster):
        assert cluster.scheduler is not None
        busy = "client.map(time.sleep, [0.05] * 400, pure=False)"
        with stage.neighbour(cluster.address, busy):
            wait(client.map(divmod, range(5), [0] * 5))
            futures = client.map(flaky, range(200), folder=str(stage.folder), retries=2)
            later(3, cluster.scheduler.kill)
            client.gather(futures)


@failure("scheduler-lost", names="SIGKILL|killed|signal 9|lost|disappeared|gone")
def the_scheduler_is_killed(stage: Stage) -> None:
    with stage.started(2) as (client, cluster):
        assert cluster.scheduler is not None
        futures = client.map(time.sleep, [0.2] * 200, pure=False)
        later(3, cluster.scheduler.kill)
        client.gather(futures)


def _slowly(block: Any) -> Any:
    time.sleep(1)
    return block


@failure("scheduler-lost", names="SIGTERM|signal-15|terminated", noise="another driver")
def the_pod_of_the_scheduler_is_evicted(stage: Stage) -> None:
    import dask.array as da

    with stage.started(3, "--nthreads", "2") as (_, cluster):
        assert cluster.scheduler is not None
        other = Client(cluster.address, set_as_default=False)
        busy = other.map(time.sleep, [0.3] * 60, pure=False)
        later(3, cluster.scheduler.terminate)
        x = da.ones((400,), chunks=10)
        x.map_blocks(_slowly, dtype=float, meta=x._meta).sum().compute()
        del busy


@failure("scheduler-lost", names="idle")
def the_cluster_is_idle_for_too_long(stage: Stage) -> None:
    with stage.started(2, scheduler=["--idle-timeout", "12s"]) as (client, _):
        client.gather(client.map(abs, range(20)))
        deadline = time.monotonic() + 26
        while time.monotonic() < deadline:  # the driver's own work
            time.sleep(0.5)
        client.gather(client.map(abs, range(20, 40)))


@failure("scheduler-lost", how="command", noise="handled exceptions, a dead worker")
def the_scheduler_is_killed_after_other_trouble(stage: Stage) -> None:
    with stage.started(3) as (client, cluster):
        assert cluster.scheduler is not None
        wait(client.map(divmod, range(5), [0] * 5))
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        later(4, cluster.scheduler.kill)
        dask.compute(*[dask.delayed(time.sleep)(0.5) for _ in range(100)])


@failure("scheduler-lost", held_out="second")
def somebody_shuts_the_cluster_down(stage: Stage) -> None:
    def render(number: int) -> int:
        time.sleep(30)
        return number

    with (
        stage.started(2) as (client, cluster),
        stage.neighbour(cluster.address, "(time.sleep(3), client.shutdown())"),
    ):
        client.gather(client.map(render, range(4)))


@failure("scheduler-lost", noise="a worker dies shortly before", held_out="second")
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


@failure("scheduler-lost", how="command", held_out="second")
def the_scheduler_is_interrupted(stage: Stage) -> None:
    @delayed
    def blend(number: int) -> int:
        time.sleep(20)
        return number

    with stage.started(2) as (_, cluster):
        assert cluster.scheduler is not None
        threading.Timer(4, os.kill, [cluster.scheduler.pid, signal.SIGINT]).start()
        dask.compute(*[blend(n) for n in range(4)])


@failure("scheduler-lost", names=["shut|clos|ended"], held_out="third: deaths")
def another_driver_shuts_the_cluster_down(stage: Stage) -> None:
    async def work(address: str) -> list[int]:
        async with Client(address, asynchronous=True) as client:
            futures = client.map(simulate, range(40))
            return list(await client.gather(futures))

    with stage.started(2) as (client, cluster):
        later(6, lambda: Client(cluster.address).shutdown())
        client.gather(client.map(simulate, range(40)))
        asyncio.run(work(cluster.address))


@failure(
    "scheduler-lost",
    names=["scheduler"],
    noise="it died of its own memory",
    held_out="third: deaths",
)
def the_pod_of_the_scheduler_is_too_small(stage: Stage) -> None:
    def weigh(table: bytes, number: int) -> int:
        time.sleep(0.1)
        return len(table) + number

    with container("420M") as pod, stage.started(2) as (client, cluster):
        assert cluster.scheduler is not None
        pod.take(cluster.scheduler.pid)
        futures: list[Any] = []
        for number in range(60):
            futures.append(client.submit(weigh, os.urandom(15_000_000), number))
            time.sleep(0.2)
        client.gather(futures)


@failure("too-many-open-files", names="scan_logs")
def a_task_opens_files_and_never_closes_them(stage: Stage) -> None:
    def scan_logs(folder: str, number: int) -> int:
        names = (Path(folder, f"{number}-{n}") for n in range(400))
        return len([name.open("w") for name in names])

    folder = str(stage.folder)
    with stage.started(1, shell="ulimit -n 300") as (client, _):
        client.gather(client.map(scan_logs, [folder] * 4, range(4)))


@failure("too-many-open-files", names="connect", noise="handled exceptions")
def connections_leak_over_many_tasks(stage: Stage) -> None:
    import dask.bag as db

    def connect(number: int) -> int:
        import builtins
        import socket

        held: list[Any] = builtins.__dict__.setdefault("sockets", [])
        held.extend(socket.socket() for _ in range(10))
        time.sleep(0.02)
        return number

    with stage.started(2, "--no-nanny", shell="ulimit -n 256") as (client, _):
        wait(client.submit(divmod, 1, 0))
        db.from_sequence(range(120), npartitions=120).map(connect).sum().compute()


@failure(
    "too-many-open-files",
    "driver-exception",
    how="command",
    names="Too many open",
    why="the driver's own code failed because no file descriptor was free",
)
def the_driver_has_too_many_files_open(stage: Stage) -> None:
    import resource

    with stage.local(1) as client:
        client.gather(client.map(abs, range(10)))
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
        held = [(stage.folder / f"{n}.csv").open("w") for n in range(300)]
        print(len(held))


_KEPT: list[Any] = []


@failure("too-many-open-files", names=["open_shards"], held_out="second")
def temporary_files_are_never_closed(stage: Stage) -> None:
    def open_shards(number: int) -> int:
        kept = _KEPT
        kept.extend(tempfile.TemporaryFile() for _ in range(60))  # noqa: SIM115
        return len(kept)

    with stage.started(1, shell="ulimit -n 160") as (client, _):
        client.gather(client.map(open_shards, range(8)))


class Sessions:
    """Connections to a warehouse, of which nobody closes one."""

    def __init__(self) -> None:
        self.held: list[socket.socket] = []

    def fetch(self, ask: Callable[[], socket.socket]) -> int:
        """Ask over a connection of its own."""
        try:
            self.held.append(ask())
        except OSError as error:
            raise URLError(error) from error
        return len(self.held)


@failure(
    "too-many-open-files",
    names=["enrich", "files|descriptors"],
    noise="URLErrors of other tasks, that were retried and went well",
    held_out="third: deaths",
)
def connections_to_a_warehouse_are_never_closed(stage: Stage) -> None:
    def ask() -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), timeout=5)

    def enrich(row: int) -> int:
        worker: Any = get_worker()
        if not hasattr(worker, "sessions"):
            worker.sessions = Sessions()
            raise URLError(ConnectionRefusedError(errno.ECONNREFUSED, "refused"))
        time.sleep(0.02)
        return int(sum(worker.sessions.fetch(ask) for _ in range(3))) + row

    with (
        socket.create_server(("127.0.0.1", 0), backlog=4_096) as server,
        stage.started(2, shell="ulimit -n 300") as (client, _),
    ):
        port = server.getsockname()[1]
        client.gather(client.map(enrich, range(300), retries=1))


@failure(
    "too-many-open-files",
    names=["tiles_of|mosaic", "files|descriptors"],
    held_out="third: deaths",
)
def images_are_opened_all_at_once(stage: Stage) -> None:
    def tiles_of(folder: str, count: int) -> list[Any]:
        return [(Path(folder) / f"{n}.raw").open("rb") for n in range(count)]

    def mosaic(folder: str, count: int) -> int:
        return sum(each.read(1)[0] for each in tiles_of(folder, count))

    for number in range(600):
        (stage.folder / f"{number}.raw").write_bytes(b"\x01\x02")
    with stage.started(2, shell="ulimit -n 400") as (client, _):
        counts = [10, 20, 590, 30]
        sums = [delayed(mosaic)(str(stage.folder), count) for count in counts]
        total: Any = delayed(sum)(sums)
        client.compute(total, retries=1).result()

"""Healthy jobs that bring their own clusters: scripts, lifetimes, retirements, clients."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster, as_completed, wait
from healthy_tasks import prices
from staging import Stage, until
from workload_list import healthy


def _started(stage: Stage, *options: str) -> Any:
    """Start two workers that can import what this module imports."""
    here = {"PYTHONPATH": str(Path(__file__).parent)}
    return stage.started(2, "--memory-limit", "1GiB", *options, environment=here)


def _commanded(stage: Stage, text: str, *words: str) -> None:
    """Run a script as a scheduler of jobs does: by `dask blackbox run`."""
    path = stage.folder / "job.py"
    path.write_text(textwrap.dedent(text))
    blackbox = ["-m", "dask", "blackbox", "run", "--store", stage.store]
    blackbox += ["--job", stage.name, "--run-id", "recorded", "--"]
    subprocess.run(
        [sys.executable, *blackbox, sys.executable, str(path), *words],
        cwd=stage.folder,
        check=True,
        timeout=200,
    )


@healthy(set=3, whole=True)
def a_script_with_a_client(stage: Stage) -> None:
    _commanded(
        stage,
        """
        from distributed import Client

        def work(number):
            return sum(n * n % 7 for n in range(600_000)) + number

        if __name__ == "__main__":
            with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as c:
                print(sum(c.gather(c.map(work, range(60)))))
        """,
    )


@healthy(set=3, whole=True)
def a_script_of_two_clusters(stage: Stage) -> None:
    """One cluster for each half of the night; between them, files are written."""
    _commanded(
        stage,
        """
        import pathlib, time
        from distributed import Client, LocalCluster

        def work(number):
            return sum(n * n % 7 for n in range(500_000)) + number

        def half(first):
            with LocalCluster(n_workers=2, threads_per_worker=1,
                              dashboard_address=None) as cluster, Client(cluster) as c:
                return c.gather(c.map(work, range(first, first + 30)))

        if __name__ == "__main__":
            pathlib.Path("first.txt").write_text(str(half(0)))
            time.sleep(2)
            pathlib.Path("second.txt").write_text(str(half(100)))
        """,
    )


@healthy(set=3, whole=True)
def a_script_that_is_over_at_once(stage: Stage) -> None:
    _commanded(
        stage,
        """
        from distributed import Client

        if __name__ == "__main__":
            with Client(processes=False, n_workers=1, dashboard_address=None) as client:
                print(client.submit(lambda: 6 * 7).result())
        """,
    )


@healthy(set=3, may=("task-exception",), whole=True)  # the driver counts on it
def a_script_with_errors_of_its_own(stage: Stage) -> None:
    """It tries a file that is not there, says so, and goes on; warns, and ends with 0."""
    _commanded(
        stage,
        """
        import logging, sys, warnings
        import dask
        from distributed import Client

        def parse(text):
            return int(text)

        if __name__ == "__main__":
            with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as c:
                try:
                    c.submit(parse, "seven").result()
                except ValueError:
                    logging.exception("ERROR: that was none, default is used")
                warnings.warn("this API goes away", FutureWarning)
                print("MemoryError? Killed? no.", file=sys.stderr)
                work = lambda n: sum(i % 7 for i in range(2_000_000)) + n
                print(max(c.gather(c.map(work, range(20)))))
            sys.exit(0)
        """,
    )


@healthy(set=3, whole=True)
def an_asynchronous_driver_gathers(stage: Stage) -> None:
    async def main() -> None:
        async with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                asynchronous=True,
                dashboard_address=None,
            ) as cluster,
            Client(cluster, asynchronous=True) as client,
            stage.recording(client),  # type: ignore[attr-defined]
        ):
            futures = client.map(prices, range(60))
            async for future in as_completed(futures):
                await future
            await asyncio.sleep(1)
            both: Any = client.gather(client.map(prices, range(60, 80)))
            await both

    asyncio.run(main())


@healthy(set=3, whole=True)
def two_clients_at_once(stage: Stage) -> None:
    """A second client, in a thread of the same driver, has work of its own."""
    with stage.local(2) as client:
        address = client.scheduler_info()["address"]

        def aside() -> None:
            with Client(address, set_as_default=False) as other:
                other.gather(other.map(prices, range(500, 530)))

        thread = threading.Thread(target=aside)
        thread.start()
        client.gather(client.map(prices, range(40)))
        thread.join()


@healthy(set=3, whole=True)
def lifetimes_done_right(stage: Stage) -> None:
    """Each worker is renewed after a while; tasks are short, and nothing is lost."""
    options = ("--lifetime", "14s", "--lifetime-stagger", "4s", "--lifetime-restart")
    with _started(stage, *options) as (client, _):
        for n in range(8):
            client.gather(client.map(prices, range(n * 20, n * 20 + 16)))


@healthy(set=3, whole=True)
def retired_one_by_one(stage: Stage) -> None:
    """Workers are replaced while they hold results: each hands its own on, and goes."""
    with _started(stage) as (client, cluster):
        held = client.map(lambda n: bytes(1_000_000 + n), range(30))
        wait(held)
        for old in list(client.scheduler_info(n_workers=-1)["workers"]):
            cluster.start_worker("--nthreads", "1", "--memory-limit", "1GiB")
            until(lambda: len(client.nthreads()) == 3, 60)
            more = client.map(prices, range(24), pure=False)
            client.retire_workers([old])
            client.gather(more)
        assert sum(client.gather(client.map(len, held))) > 30_000_000


@healthy(set=3, whole=True)
def up_and_down_with_the_work(stage: Stage) -> None:
    with stage.local(1) as client:
        cluster: Any = client.cluster
        cluster.adapt(minimum=1, maximum=4, interval="300ms", wait_count=3)
        for n in range(4):
            client.gather(client.map(prices, range(n * 50, n * 50 + 30)))
            time.sleep(1.5)  # it is read, meanwhile workers go
        cluster.adapt(minimum=1, maximum=1)


@healthy(set=3, whole=True)
def restarted_between_phases(stage: Stage) -> None:
    with stage.local(2) as client:
        client.gather(client.map(prices, range(24)))
        client.restart(timeout=60)
        client.gather(client.map(prices, range(24, 48)))


@healthy(set=3, whole=True)
def thought_about_between_cells(stage: Stage) -> None:
    """Somebody looks at each answer for a while: nobody waits but him."""
    with stage.local(2) as client:
        for n in range(4):
            client.gather(client.map(prices, range(n * 20, n * 20 + 12)))
            time.sleep(9)  # he reads


@healthy(set=3, whole=True)
def a_third_of_a_second(stage: Stage) -> None:
    with stage.local(1, processes=False) as client:
        client.gather(client.map(lambda n: n + 1, range(20)))


@healthy(set=3, whole=True)
def eight_threads_of_numpy(stage: Stage) -> None:
    import dask.array as da

    with stage.local(1, threads_per_worker=8, memory_limit="4GiB") as client:
        assert client.nthreads()
        x = da.random.random((12_000, 8_000), chunks=(1_000, 2_000))
        ((x - x.mean(axis=0)) / x.std(axis=0)).max().compute()


@healthy(set=3, whole=True)
def one_thread_for_a_minute(stage: Stage) -> None:
    with stage.local(1) as client:
        client.gather(client.map(prices, range(300)))


@healthy(set=3, whole=True)
def two_drivers_take_turns(stage: Stage) -> None:
    """A cluster lives on; each driver records its own part of it."""
    with _started(stage) as (client, cluster):
        client.gather(client.map(prices, range(30)))
        with Client(cluster.address, set_as_default=False) as other:
            other.gather(other.map(prices, range(30, 40)))

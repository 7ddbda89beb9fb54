"""Scripts of users whose processes end later than their work, for `dask blackbox run`.

python outcomes.py HOW
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed
from scenario_reports import scaled

HERE = Path(os.environ["TMPDIR"])
SCHEDULER_FILE = HERE / "scheduler.json"
Processes = list["subprocess.Popen[bytes]"]


def double(i: int) -> int:
    return 2 * i


def load(i: int) -> int:
    if i == 3:
        raise KeyError(f"no column 'qty' in part {i}")
    return i


def needs_a_module(i: int) -> int:
    import module_of_nobody  # type: ignore[import-not-found]

    return int(module_of_nobody.scale(i))


def slow(i: int) -> int:
    time.sleep(30)
    return i


def die(i: int) -> int:
    os.kill(os.getpid(), signal.SIGSEGV)
    return i


def started(*words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
    with (HERE / f"{words[0]}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def own_cluster(workers: int = 1) -> Processes:
    there = f"--scheduler-file={SCHEDULER_FILE}"
    processes = [
        started("scheduler", there, "--port=0", "--dashboard-address=127.0.0.1:0")
    ]
    processes += [
        started(
            "worker", there, "--nthreads=1", "--dashboard-address=127.0.0.1:0",
            f"--local-directory={HERE}", f"--name=w{number}",
        )
        for number in range(workers)
    ]  # fmt: skip
    return processes


def client_of_own(workers: int = 1) -> Client:
    client = Client(scheduler_file=str(SCHEDULER_FILE), timeout=scaled(30))
    client.wait_for_workers(workers, timeout=scaled(60))
    return client


def end(processes: Processes) -> None:
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        process.wait(30)


@contextmanager
def cluster_of_processes() -> Iterator[Client]:
    processes = own_cluster()
    try:
        with client_of_own() as client:
            yield client
    finally:
        end(processes)


# What ends the work before the teardown


def task_error_then_teardown() -> None:
    processes = own_cluster()
    try:
        client = client_of_own()
        print(sum(client.gather(client.map(load, range(8)))))
    finally:
        end(processes)


def module_missing_then_teardown() -> None:
    with cluster_of_processes() as client:
        client.submit(needs_a_module, 1).result()


def segfault_then_teardown() -> None:
    with cluster_of_processes() as client:
        client.submit(die, 1).result()


def driver_error_then_teardown() -> None:
    processes = own_cluster()
    try:
        client = client_of_own()
        total = client.submit(double, 1).result()
        # Work that nobody waits for goes on when the script ends its workers.
        client.submit(slow, 1)
        until_it_runs(client)
        raise ValueError(f"the total {total} does not match the ledger")
    finally:
        end(processes)


def until_it_runs(client: Client) -> None:
    while not any(client.processing().values()):
        time.sleep(0.01)


def fine_then_teardown() -> None:
    processes = own_cluster()
    client = client_of_own()
    print(client.submit(double, 21).result())
    client.submit(slow, 1)
    until_it_runs(client)
    end(processes)


def asynchronous_then_teardown() -> None:
    async def work() -> None:
        processes = own_cluster()
        try:
            async with Client(
                scheduler_file=str(SCHEDULER_FILE),
                asynchronous=True,
                timeout=scaled(30),
            ) as client:
                await client.wait_for_workers(1, timeout=scaled(60))
                await client.gather(client.map(load, range(8)))
        finally:
            end(processes)

    asyncio.run(work())


# What was survived


def with_local(work: str) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        WORK[work](client)


def exit_4_after_a_handled_error(client: Client) -> None:
    try:
        client.submit(load, 3).result()
    except KeyError:
        print("part 3 has no quantities: skipped")
    print(client.submit(load, 4).result())
    sys.exit(4)


def exit_1_while_handling(client: Client) -> None:
    try:
        client.submit(load, 3).result()
    except KeyError as error:
        print("cannot go on:", error)
        sys.exit(1)


def own_timeout(client: Client) -> None:
    future = client.submit(slow, 1)
    deadline = time.monotonic() + 3
    while not future.done():
        if time.monotonic() > deadline:
            raise TimeoutError("the nightly load took longer than 3 s")
        time.sleep(0.1)


def retried_in_vain(client: Client) -> None:
    for _ in range(3):
        try:
            client.submit(double, "x", pure=False).result(timeout=0.0001)
        except Exception as error:  # noqa: BLE001 - as users do
            print("again after", type(error).__name__)
    client.submit(load, 3).result()


def joblib_batch(client: Client) -> None:
    import joblib

    with joblib.parallel_config(backend="dask", client=client):
        joblib.Parallel()(joblib.delayed(load)(i) for i in range(8))


def wait_for_ever(client: Client) -> None:
    print("ready", flush=True)
    client.submit(slow, 1).result()
    client.submit(slow, 2).result()


WORK = {
    each.__name__: each
    for each in (
        exit_4_after_a_handled_error,
        exit_1_while_handling,
        own_timeout,
        retried_in_vain,
        joblib_batch,
        wait_for_ever,
    )
}


# The scheduler is killed


def scheduler_killed() -> None:
    processes = own_cluster()
    try:
        client = client_of_own()
        futures = client.map(slow, range(4))
        until_it_runs(client)
        # Not by the script: as an out-of-memory killer would.
        subprocess.run(["/bin/kill", "-9", str(processes[0].pid)], check=True)
        failed = 0
        for future in as_completed(futures):
            try:
                future.result()
            except Exception as error:  # noqa: BLE001 - as users do
                failed += 1
                print("failed:", type(error).__name__)
        if failed:
            sys.exit(f"{failed} of {len(futures)} futures failed")
    finally:
        end(processes)


def scheduler_ended_by_the_script_itself() -> None:
    processes = own_cluster()
    client = client_of_own()
    future = client.submit(slow, 1)
    until_it_runs(client)
    processes[0].terminate()
    try:
        future.result()
    finally:
        end(processes[1:])


ALONE = {
    each.__name__: each
    for each in (
        task_error_then_teardown,
        module_missing_then_teardown,
        segfault_then_teardown,
        driver_error_then_teardown,
        fine_then_teardown,
        asynchronous_then_teardown,
        scheduler_killed,
        scheduler_ended_by_the_script_itself,
    )
}

if __name__ == "__main__":
    how = sys.argv[1]
    if how in ALONE:
        ALONE[how]()
    else:
        with_local(how)

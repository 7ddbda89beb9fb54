"""Ways in which real Dask runs end: each case is reported on a real cluster and recorded.

A case takes a client; what it raises is how the run ends.  Its verdict, and findings
that must be there, stand beside it.  `make.py` runs them.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import dask
from distributed import Client, get_client, wait

__all__ = ["RULE_CASES", "RuleCase"]


class RuleCase(NamedTuple):
    """What happens on which cluster, and what must be said of it."""

    run: Callable[[Client], Any]
    verdict: str | None
    findings: tuple[str, ...] = ()
    key: str | None = None  # a part of the key that the verdict names
    cluster: Mapping[str, Any] = MappingProxyType({})
    allowed_failures: int = 1
    patience: str | None = None  # with tasks that no worker can run
    hang_ends: str | None = None  # blackbox.stall.end-run


def hog(mebibytes: int, pieces: int = 40) -> int:
    """Grow step by step, as real tasks do."""
    held = []
    for _ in range(pieces):
        held.append(bytearray(os.urandom(1024)) * (mebibytes * 1024 // pieces))
        time.sleep(0.02)
    return len(held)


def inc(number: int) -> int:
    time.sleep(0.01)
    return number + 1


def divide(number: int) -> float:
    return 10 / number


def add(*numbers: Any) -> Any:
    return sum(numbers)


def die(how: str, number: int = 0) -> None:
    time.sleep(0.3)
    if how == "sigsegv":
        faulthandler._sigsegv()  # type: ignore[attr-defined]
    elif how == "string_at":
        ctypes.string_at(0)
    elif how == "abort":
        os.abort()
    elif how == "exit":
        os._exit(number)
    elif how == "sys.exit":
        sys.exit(number)
    else:
        os.kill(os.getpid(), getattr(signal, how))
    time.sleep(30)


def flaky(folder: str, number: int) -> int:
    """Fail the first time that it is asked for a number."""
    mark = Path(folder) / str(number)
    if not mark.exists():
        mark.touch()
        raise ConnectionError(f"service unavailable for {number}")
    return number


# User exceptions


def exception_in_futures(client: Client) -> None:
    client.gather(client.map(divide, range(5)))


def exception_in_delayed(client: Client) -> None:
    parts = [dask.delayed(divide)(n) for n in (5, 2, 0, 4)]
    dask.delayed(add)(*parts).compute()


def exception_wrapped(client: Client) -> None:
    try:
        client.submit(divide, 0, key="divide-zero").result()
    except ZeroDivisionError as error:
        raise RuntimeError("the nightly job failed") from error


def exception_in_dataframe(client: Client) -> None:
    import dask.dataframe as dd
    import pandas as pd

    def parse(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(amount=frame["amount"].map(int))

    frame = pd.DataFrame({"amount": ["1", "2", "three", "4"]})
    ddf = dd.from_pandas(frame, npartitions=2)
    ddf.map_partitions(parse, meta={"amount": "int64"}).compute()


def exception_handled(client: Client) -> None:
    future = client.submit(divide, 0)
    wait(future)
    assert future.status == "error"
    client.gather(client.map(inc, range(20)))


def exception_after_retries(client: Client) -> None:
    client.submit(divide, 0, retries=2, key="divide-again").result()


def out_of_array_memory(client: Client) -> None:
    import dask.array as da

    def huge(block: Any) -> Any:
        import numpy as np

        return np.ones((200_000, 200_000, 200))

    da.ones(4, chunks=2).map_blocks(huge, dtype=float, meta=da.ones(1)._meta).compute()


def huge_result(client: Client) -> None:
    import dask.array as da

    da.random.random((9_000, 9_000), chunks=(1_000, 9_000)).compute()


# Workers that die


def memory_limit_in_futures(client: Client) -> None:
    client.gather(client.map(hog, [900, 901]))


def memory_limit_with_innocents(client: Client) -> None:
    innocents = client.map(inc, range(200), pure=False)
    guilty = client.submit(hog, 900, key="hog-1")
    client.gather([*innocents, guilty])


def memory_limit_in_dataframe(client: Client) -> None:
    import dask.dataframe as dd
    import pandas as pd

    def explode(frame: pd.DataFrame) -> pd.DataFrame:
        grown = frame
        for _ in range(16):
            grown = pd.concat([grown, grown], ignore_index=True)
            time.sleep(0.05)
        return grown

    frame = pd.DataFrame({"x": range(10_000), "y": ["some text"] * 10_000})
    ddf = dd.from_pandas(frame, npartitions=2)
    len(ddf.map_partitions(explode, meta=frame.iloc[:0]))


def died_of(how: str, number: int = 0) -> Callable[[Client], None]:
    def case(client: Client) -> None:
        client.submit(die, how, number, key=f"die-{how}").result()

    return case


def died_of_in_delayed(how: str, number: int = 0) -> Callable[[Client], None]:
    def case(client: Client) -> None:
        parts = [dask.delayed(inc)(n) for n in range(20)]
        dask.delayed(add)(*parts, dask.delayed(die)(how, number)).compute()

    return case


def died_and_survived(client: Client) -> None:
    """One worker is killed from outside; its work is done again elsewhere."""
    futures = client.map(time.sleep, [0.2] * 20, pure=False)
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)
    client.gather(futures)


def module_only_here(client: Client) -> None:
    """A module that the driver can import, and the workers cannot."""
    import tempfile

    folder = tempfile.mkdtemp()
    Path(folder, "only_here.py").write_text("def load(n):\n    return n + 1\n")
    sys.path.insert(0, folder)
    import only_here  # type: ignore[import-not-found]

    wait(client.map(only_here.load, range(8)), timeout=15)


# The driver, and what it cannot reach


def driver_fails(client: Client) -> None:
    client.gather(client.map(inc, range(10)))
    amounts = {"monday": 1}
    print(amounts["tuesday"])


def driver_fails_building(client: Client) -> None:
    import dask.dataframe as dd

    dd.read_parquet("/nonexistent/2026-13/").compute()


def driver_asserts_after_handling(client: Client) -> None:
    """A task failed, was handled, and then something else went wrong."""
    wait(client.submit(divide, 0))
    raise AssertionError("row counts differ")


def graph_with_a_lock(client: Client) -> None:
    lock = threading.Lock()
    client.submit(lambda: lock.acquire(blocking=False)).result()


def delayed_with_a_lock(client: Client) -> None:
    dask.delayed(inc)(dask.delayed(threading.Lock())).compute()


def waited_for_workers(client: Client) -> None:
    client.wait_for_workers(9, timeout=2)


def cancelled_by_someone(client: Client) -> None:
    future = client.submit(time.sleep, 30, key="sleep-long")
    client.cancel([future], reason="superseded")
    future.result()


def no_such_resource(client: Client) -> None:
    client.submit(inc, 1, resources={"GPU": 1}, key="needs-gpu").result()


def scattered_and_lost(client: Client) -> None:
    (held,) = client.scatter([list(range(1000))], hash=False)
    (address,) = client.who_has([held])[held.key]
    pid = client.run(os.getpid, workers=[address])[address]
    os.kill(pid, signal.SIGKILL)
    while held.status == "finished":
        time.sleep(0.05)
    client.submit(len, held).result(timeout=20)


# Hangs: nothing is raised, until somebody runs out of patience


def nested_client(client: Client) -> None:
    def outer(number: int) -> int:
        answer: int = get_client().submit(inc, number).result()
        return answer

    client.submit(outer, 1, key="outer-1").result(timeout=8)


def nobody_has_the_resource(client: Client) -> None:
    client.submit(inc, 1, resources={"GPU": 1}, key="needs-gpu").result()


def lock_as_dependency(client: Client) -> None:
    here, there = client.scheduler_info()["workers"]
    lock = client.submit(threading.Lock, workers=[here], key="lock-1")
    client.submit(id, lock, workers=[there], key="use-1").result(timeout=8)


def slow_but_healthy(client: Client) -> None:
    """One task for longer than a stall takes to be reported, and nothing is wrong."""
    client.submit(time.sleep, 5, key="slow-1").result()


# Healthy runs


def healthy_array(client: Client) -> None:
    import dask.array as da

    x = da.random.random((2_000, 2_000), chunks=(500, 500))
    (x @ x.T).mean().compute()


def healthy_dataframe(client: Client) -> None:
    frame = dask.datasets.timeseries(end="2000-01-08", freq="10s")
    frame.groupby("name")["x"].mean().compute()


def healthy_restart(client: Client) -> None:
    client.gather(client.map(inc, range(20)))
    client.restart()
    client.gather(client.map(inc, range(20)))


def healthy_scaling(client: Client) -> None:
    client.gather(client.map(inc, range(20)))
    client.retire_workers(workers=list(client.scheduler_info()["workers"])[:1])
    client.gather(client.map(inc, range(20, 40)))


def healthy_with_retries(client: Client) -> None:
    import tempfile

    folder = tempfile.mkdtemp()
    client.gather([client.submit(flaky, folder, n, retries=2) for n in range(5)])


SMALL = {"memory_limit": "400MiB"}
THREADS = {"memory_limit": "600MiB", "threads_per_worker": 2, "n_workers": 1}
_HANGS: dict[str, Any] = {"hang_ends": "1 hour"}
ONE = {"n_workers": 1}

RULE_CASES: dict[str, RuleCase] = {
    "exception_in_futures": RuleCase(
        exception_in_futures, "task-exception", key="divide"
    ),
    "exception_in_delayed": RuleCase(
        exception_in_delayed, "task-exception", key="divide"
    ),
    "exception_wrapped": RuleCase(
        exception_wrapped, "task-exception", key="divide-zero"
    ),
    "exception_in_dataframe": RuleCase(
        exception_in_dataframe, "task-exception", key="parse"
    ),
    "exception_after_retries": RuleCase(
        exception_after_retries, "task-exception", key="divide-again"
    ),
    "exception_handled": RuleCase(exception_handled, None, ("task-exception",)),
    "out_of_array_memory": RuleCase(out_of_array_memory, "task-memory-error"),
    "huge_result": RuleCase(huge_result, "result-too-large", cluster=SMALL),
    "memory_limit_in_futures": RuleCase(
        memory_limit_in_futures, "worker-memory-limit", key="hog", cluster=SMALL
    ),
    "memory_limit_with_innocents": RuleCase(
        memory_limit_with_innocents, "worker-memory-limit", key="hog", cluster=SMALL
    ),
    "memory_limit_in_dataframe": RuleCase(
        memory_limit_in_dataframe, "worker-memory-limit", key="explode", cluster=SMALL
    ),
    "memory_limit_with_threads": RuleCase(
        memory_limit_in_futures, "worker-memory-limit", key="hog", cluster=THREADS
    ),
    "segfault": RuleCase(died_of("sigsegv"), "worker-segfault", key="die"),
    "segfault_in_delayed": RuleCase(
        died_of_in_delayed("string_at"), "worker-segfault", key="die"
    ),
    "abort": RuleCase(died_of("abort"), "worker-abort", key="die"),
    "os_exit_3": RuleCase(died_of("exit", 3), "worker-exit", key="die"),
    "os_exit_0": RuleCase(died_of_in_delayed("exit"), "worker-exit", key="die"),
    "sys_exit_0": RuleCase(died_of("sys.exit"), "worker-exit", key="die"),
    "sys_exit_4": RuleCase(died_of("sys.exit", 4), "worker-exit", key="die"),
    "sigkill": RuleCase(died_of("SIGKILL"), "worker-signalled", key="die"),
    "sigkill_by_default": RuleCase(
        died_of("SIGKILL"), "worker-signalled", key="die", allowed_failures=3
    ),
    "sigterm": RuleCase(died_of_in_delayed("SIGTERM"), "worker-signalled", key="die"),
    "died_and_survived": RuleCase(
        died_and_survived, None, ("workers-died",), allowed_failures=3
    ),
    "module_only_here": RuleCase(module_only_here, "environment-mismatch"),
    "driver_fails": RuleCase(driver_fails, "driver-exception"),
    "driver_fails_building": RuleCase(driver_fails_building, "driver-exception"),
    "driver_asserts_after_handling": RuleCase(
        driver_asserts_after_handling, "driver-exception", ("task-exception",)
    ),
    "graph_with_a_lock": RuleCase(graph_with_a_lock, "graph-not-serializable"),
    "delayed_with_a_lock": RuleCase(delayed_with_a_lock, "graph-not-serializable"),
    "waited_for_workers": RuleCase(waited_for_workers, "workers-never-arrived"),
    "cancelled_by_someone": RuleCase(cancelled_by_someone, "cancelled"),
    "no_such_resource": RuleCase(no_such_resource, "no-valid-worker", patience="3s"),
    "nested_client": RuleCase(
        nested_client, "nested-client-deadlock", key="outer-1", cluster=ONE, **_HANGS
    ),
    "nobody_has_the_resource": RuleCase(
        nobody_has_the_resource, "no-valid-worker", key="needs-gpu", hang_ends="4s"
    ),
    "lock_as_dependency": RuleCase(
        lock_as_dependency, "dependency-not-serializable", key="lock-1", **_HANGS
    ),
    "slow_but_healthy": RuleCase(slow_but_healthy, None, hang_ends="1 hour"),
    "scattered_and_lost": RuleCase(scattered_and_lost, "data-lost"),
    "healthy_array": RuleCase(healthy_array, None),
    "healthy_dataframe": RuleCase(healthy_dataframe, None),
    "healthy_restart": RuleCase(healthy_restart, None),
    "healthy_scaling": RuleCase(healthy_scaling, None),
    "healthy_with_retries": RuleCase(
        healthy_with_retries, None, ("retries-hid-errors",)
    ),
}

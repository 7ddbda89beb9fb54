"""A nightly job that computes the levels of a tank farm, and fails in a chosen way.

It is put together of parts that the variable `PARTS` names, as `fault,cluster,driver,before`: what
goes wrong, on which cluster it runs, how its driver waits for results and takes errors, and what
happened before.  Each part is independent of the others, so that a diagnosis that depends on their
combination shows.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import ctypes
import functools
import json
import logging
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import dask
import dask.bag
from distributed import (
    Client,
    Event,
    LocalCluster,
    Lock,
    WorkerPlugin,
    as_completed,
    get_client,
    wait,
)
from distributed.deploy.subprocess import SubprocessCluster

FAULT, CLUSTER, DRIVER, BEFORE = os.environ["PARTS"].split(",")
TANKS = range(8)
BAD = 3
DISTURBED = {"sigkill", "sigterm", "scheduler-killed", "cancelled"}
FOLDER = Path.cwd()  # of the driver, also where a worker unpickles a function
KEPT: list[Any] = []
log = logging.getLogger("tank_farm")


# What a task does.  The bad tank fails in its own function, which is what a diagnosis must name.


def reading(tank: int) -> float:
    time.sleep(0.05)
    return tank * 1.5


def level_negative(tank: int, value: float) -> float:
    if tank == BAD:
        raise ValueError(f"negative volume in tank {tank}")
    return value + 1


def level_all_negative(tank: int, value: float) -> float:
    raise ValueError("density table is empty")


def level_without_file(tank: int, value: float) -> float:
    if tank == BAD:
        Path(f"calibration/tank_{tank}.csv").read_text()
    return value + 1


def level_too_large(tank: int, value: float) -> float:
    if tank == BAD:
        raise MemoryError("Unable to allocate 90.0 GiB for the strapping table")
    return value + 1


def level_growing(tank: int, value: float) -> float:
    kept = []
    while tank == BAD:
        kept.append(bytearray(os.urandom(1 << 20)) * 20)
        time.sleep(0.05)
    return value + 1


def level_native(tank: int, value: float) -> float:
    if tank == BAD:
        ctypes.string_at(8)
    return value + 1


def level_abort(tank: int, value: float) -> float:
    if tank == BAD:
        os.abort()
    return value + 1


def level_exit(tank: int, value: float) -> float:
    if tank == BAD:
        os._exit(5)
    return value + 1


def level_frozen(tank: int, value: float) -> float:
    if tank == BAD:
        ctypes.PyDLL(None).sleep(40)
    return value + 1


def level_slow(tank: int, value: float) -> float:
    if tank == BAD:
        (FOLDER / "slow.pid").write_text(str(os.getpid()))
        time.sleep(20)
    return value + 1


def level_after_event(tank: int, value: float) -> float:
    if tank == BAD:
        Event("valve_closed").wait()
    return value + 1


def level_with_lock(tank: int, value: float) -> float:
    if tank == BAD:
        with Lock("gauge_port"):
            return value
    return value + 1


def level_on_gpu(tank: int, value: float) -> float:
    return value + 1


def level_handle(tank: int, value: float) -> Any:
    return threading.Lock() if tank == BAD else value + 1


def level_of_gauge(gauge: Gauge, value: float) -> float:
    return value + gauge.tank


def level_module(tank: int, value: float) -> float:
    import strapping  # type: ignore[import-not-found]

    return float(strapping.level(tank, value))


def level_token(tank: int, value: float) -> float:
    return value + len(os.environ["GAUGE_TOKEN"])


def level_of_all(tank: int, table: list[float]) -> float:
    time.sleep(0.05)
    return table[tank]


def level_program(tank: int, value: float) -> float:
    if tank == BAD:
        code = "import sys; sys.exit('gauge 3: calibration lapsed')"
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return value + 1


def level_silent(tank: int, value: float) -> float:
    if tank == BAD:
        port = int((FOLDER / "gauge.port").read_text())
        with socket.create_connection(("127.0.0.1", port)) as connection:
            return float(connection.recv(64))
    return value + 1


def level_nested(tank: int, value: float) -> float:
    client = get_client()
    parts = client.map(reading, [tank * 10 + part for part in range(3)], pure=False)
    return value + sum(part.result() for part in parts)


def level_sysexit(tank: int, value: float) -> float:
    if tank == BAD:
        sys.exit("no licence for tank 3")
    return value + 1


class GaugeError(Exception):
    """The fault of a gauge, which cannot be made again from its text alone."""

    def __init__(self, tank: int, code: str) -> None:
        super().__init__(f"gauge of tank {tank}: {code}")


def level_fault(tank: int, value: float) -> float:
    if tank == BAD:
        raise GaugeError(tank, "no echo")
    return value + 1


def level_typed(tank: int, value: float) -> float:
    return value + {"volume": 3.0 if tank != BAD else "3,5 m3"}["volume"]  # type: ignore[operator]


def level_recursive(tank: int, value: float) -> float:
    return level_recursive(tank, value + 1) if tank == BAD else value


class Licence(WorkerPlugin):
    """A plugin that takes a licence on each worker."""

    name = "licence"

    def setup(self, worker: Any) -> None:
        raise OSError("licence file lapsed on 2026-10-31")


class Gauge:
    """A gauge that can be read on the host that it is attached to."""

    def __init__(self, tank: int) -> None:
        self.tank = tank
        self.host = os.getpid()

    def __setstate__(self, state: dict[str, Any]) -> None:
        if os.getpid() != state["host"] and state["tank"] == BAD:
            raise RuntimeError("gauge 3 is attached to another host")
        self.__dict__.update(state)


LEVELS: dict[str, Callable[..., Any]] = {
    "exception": level_negative,
    "all-exceptions": level_all_negative,
    "missing-file": level_without_file,
    "memory-error": level_too_large,
    "memory-limit": level_growing,
    "segfault": level_native,
    "abort": level_abort,
    "exit": level_exit,
    "frozen": level_frozen,
    "sigkill": level_slow,
    "sigterm": level_slow,
    "scheduler-killed": level_slow,
    "cancelled": level_slow,
    "event": level_after_event,
    "lock": level_with_lock,
    "resource": level_on_gpu,
    "result": level_handle,
    "argument": level_negative,
    "setstate": level_of_gauge,
    "module": level_module,
    "variable": level_token,
    "scattered": level_of_all,
    "driver-bug": level_on_gpu,
    "program": level_program,
    "silent": level_silent,
    "nested": level_nested,
    "sysexit": level_sysexit,
    "fault": level_fault,
    "typed": level_typed,
    "recursive": level_recursive,
    "lifetime": level_slow,
    "plugin": level_on_gpu,
}


# Clusters.


@contextlib.contextmanager
def _commands(*, nanny: bool) -> Iterator[Client]:
    """Start a scheduler and two workers by Dask's commands, as a site's own launcher does."""
    file = Path("scheduler.json").resolve()
    base = [sys.executable, "-m", "dask"]
    away = tempfile.mkdtemp()
    env = {key: value for key, value in os.environ.items() if key != "GAUGE_TOKEN"}
    worker = [*base, "worker", "--scheduler-file", str(file), "--nthreads", "1"]
    worker += ["--memory-limit", "400MB", "--nanny" if nanny else "--no-nanny"]
    if FAULT == "preload":
        Path("licence.py").write_text(
            "raise RuntimeError('no licence server at 10.0.0.7')\n"
        )
        worker += ["--preload", str(Path("licence.py").resolve())]
    if FAULT == "option":
        worker += ["--nprocs", "2"]
    if FAULT == "lifetime":
        worker += ["--lifetime", "8s"]
    if FAULT == "address":
        worker[3:5] = ["tcp://127.0.0.1:9"]
        worker += ["--death-timeout", "6"]
    scheduler = [*base, "scheduler", "--scheduler-file", str(file), "--port", "0"]
    processes = [subprocess.Popen([*scheduler, "--dashboard-address", ":0"], env=env)]
    Path("scheduler.pid").write_text(str(processes[0].pid))
    try:
        processes += [subprocess.Popen(worker, cwd=away, env=env) for _ in range(2)]
        with Client(scheduler_file=str(file), timeout=20) as client:
            client.wait_for_workers(2, timeout=15)
            yield client
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


@contextlib.contextmanager
def _local(**options: Any) -> Iterator[Client]:
    with (
        LocalCluster(dashboard_address=":0", **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextlib.contextmanager
def _subprocesses() -> Iterator[Client]:
    kwargs = {"dashboard_address": ":0"}
    options = {"nthreads": 1, "memory_limit": "400MB"}
    with (
        SubprocessCluster(
            n_workers=2, worker_kwargs=options, scheduler_kwargs=kwargs
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=20)
        yield client


def cluster() -> contextlib.AbstractContextManager[Client]:
    if CLUSTER == "local":
        return _local(n_workers=2, threads_per_worker=1, memory_limit="400MB")
    if CLUSTER == "two-threads":
        return _local(n_workers=2, threads_per_worker=2, memory_limit="400MB")
    if CLUSTER == "in-process":
        return _local(n_workers=1, threads_per_worker=2, processes=False)
    if CLUSTER == "subprocesses":
        return _subprocesses()
    return _commands(nanny=CLUSTER == "commands")


# What happened before.


def no_rate(year: int) -> float:
    raise KeyError(f"no rate for {year}")


def tick(number: int) -> int:
    time.sleep(0.1)
    return number


def fall_once(flag: str) -> int:
    if not Path(flag).exists():
        Path(flag).write_text("")
        os._exit(1)
    return 1


def prepare(client: Client) -> list[Any]:
    """Do what the job did before; return what must be kept."""
    if BEFORE == "handled":
        try:
            client.submit(no_rate, 2019).result()
        except KeyError:
            log.warning("no rate for 2019: the one of 2020 is used")
    if BEFORE == "restarted":
        client.map(tick, range(4))
        client.restart()
    if BEFORE == "retired":
        first = min(client.scheduler_info()["workers"])
        client.gather(client.map(tick, range(4)))
        client.retire_workers([first])
    if BEFORE == "recovered":
        client.submit(fall_once, str(Path("fell").resolve())).result()
    if BEFORE == "beside":
        return client.map(tick, range(100, 160))
    return []


def earlier_cluster() -> None:
    options = {"n_workers": 1, "threads_per_worker": 4, "memory_limit": "300MB"}
    with _local(**options) as client:
        print("warm-up", sum(client.gather(client.map(tick, range(8)))))


# What the driver does with the tanks.


def submit(client: Client) -> list[Any]:
    values = client.map(reading, TANKS)
    level = LEVELS[FAULT]
    if FAULT == "argument":
        bad = [threading.Lock() if tank == BAD else tank for tank in TANKS]
        return client.map(level, bad, values)
    if FAULT == "setstate":
        return client.map(level, [Gauge(tank) for tank in TANKS], values)
    if FAULT == "resource":
        return [
            client.submit(
                level, t, v, resources={"GPU": 1} if t == BAD else None, pure=False
            )
            for t, v in zip(TANKS, values, strict=True)
        ]
    if FAULT == "scattered":
        [table] = client.scatter([[float(tank) for tank in TANKS]])
        [holder] = client.who_has([table])[table.key]
        pid = client.run(os.getpid, workers=[holder])[holder]
        os.kill(pid, signal.SIGKILL)
        while holder in client.scheduler_info()["workers"]:
            time.sleep(0.1)
        return [client.submit(level, tank, table, pure=False) for tank in TANKS]
    return [
        client.submit(level, tank, value, pure=False)
        for tank, value in zip(TANKS, values, strict=True)
    ]


def watchdog(client: Client, futures: list[Any]) -> None:
    """Do to the cluster what something outside it would do."""
    end = time.monotonic() + 20
    while not (FOLDER / "slow.pid").exists() and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(1)
    if FAULT == "sigkill":
        os.kill(int((FOLDER / "slow.pid").read_text()), signal.SIGKILL)
    if FAULT == "sigterm":
        os.kill(int((FOLDER / "slow.pid").read_text()), signal.SIGTERM)
    if FAULT == "scheduler-killed":
        os.kill(int(Path("scheduler.pid").read_text()), signal.SIGKILL)
    if FAULT == "cancelled":
        client.cancel(futures, force=True)


def obstruct(client: Client) -> None:
    """Do what makes some faults possible, before any task is sent."""
    if FAULT == "lock":
        Lock("gauge_port").acquire()
    if FAULT == "plugin":
        client.register_plugin(Licence())
    if FAULT == "silent":
        server = socket.create_server(("127.0.0.1", 0))
        Path("gauge.port").write_text(str(server.getsockname()[1]))
        KEPT.append(server)


def disturb(client: Client, futures: list[Any]) -> None:
    if FAULT in DISTURBED:
        thread = threading.Thread(target=watchdog, args=(client, futures), daemon=True)
        thread.start()


def levels(client: Client) -> list[Any]:
    """Compute the levels of all tanks, in the driver's way."""
    obstruct(client)
    if DRIVER in UNSENT:
        disturb(client, [])
        return UNSENT[DRIVER](client)
    futures = submit(client)
    disturb(client, futures)
    return DRIVERS[DRIVER](client, futures)


def _delayed(client: Client) -> list[Any]:
    bad = threading.Lock() if FAULT == "argument" else BAD
    parts = [
        dask.delayed(LEVELS[FAULT])(
            bad if tank == BAD else tank, dask.delayed(reading)(tank)
        )
        for tank in TANKS
    ]
    return list(dask.compute(*parts))


def _bag(client: Client) -> list[Any]:
    tanks = dask.bag.from_sequence(TANKS, npartitions=len(TANKS))
    return list(tanks.map(functools.partial(_of_tank, LEVELS[FAULT])).compute())


def _gather(client: Client, futures: list[Any]) -> list[Any]:
    return list(client.gather(futures))


def _counted(client: Client, futures: list[Any]) -> list[Any]:
    results, bad = [], 0
    for future in as_completed(futures, timeout=14):
        try:
            results.append(future.result())
        except Exception as error:  # noqa: BLE001 - jobs do
            bad += 1
            log.error("a tank failed: %s", error)  # noqa: TRY400 - and print no traceback
    if bad:
        sys.exit(f"{bad} of {len(futures)} tanks failed")
    return results


def _budget(client: Client, futures: list[Any]) -> list[Any]:
    _, late = wait(futures, timeout=14, return_when="ALL_COMPLETED")
    if late:
        raise RuntimeError(f"{len(late)} tanks are over the budget")
    return list(client.gather(futures))


def _reraised(client: Client, futures: list[Any]) -> list[Any]:
    try:
        return [future.result(timeout=14) for future in futures]
    except Exception:  # noqa: BLE001 - jobs do
        raise RuntimeError("the level run of tonight failed") from None


def _code(client: Client, futures: list[Any]) -> list[Any]:
    try:
        return [future.result(timeout=14) for future in futures]
    except Exception:
        log.exception("level run failed")
        sys.exit(3)


def _again(client: Client, futures: list[Any]) -> list[Any]:
    try:
        return [future.result(timeout=12) for future in futures]
    except Exception as error:  # noqa: BLE001 - jobs do
        log.warning("first pass failed (%s), once more", type(error).__name__)
    client.cancel(futures)
    return [future.result(timeout=12) for future in submit(client)]


def _complete(client: Client, futures: list[Any]) -> list[Any]:
    with contextlib.suppress(TimeoutError):
        wait(futures, timeout=14)
    done = [each.result() for each in futures if each.status == "finished"]
    assert len(done) == len(futures), f"only {len(done)} of {len(futures)} tanks"
    return done


def _of_tank(level: Callable[..., Any], tank: int) -> Any:
    return level(tank, reading(tank))


def _asynchronous(client: Client) -> list[Any]:
    return asyncio.run(_awaited(str(client.scheduler_info()["address"])))


async def _awaited(address: str) -> list[Any]:
    async with Client(address, asynchronous=True) as client:
        futures = submit(client)
        if DRIVER == "async":
            return list(await asyncio.wait_for(client.gather(futures), 14))
        results, failed = [], []
        for tank, future in zip(TANKS, futures, strict=True):
            try:
                results.append(await asyncio.wait_for(future.result(), 14))
            except Exception as error:  # noqa: BLE001 - jobs do
                failed.append(tank)
                log.error("tank %s: %s", tank, type(error).__name__)  # noqa: TRY400
                if isinstance(error, TimeoutError):
                    break
        if failed:
            log.error("tanks without a level: %s", failed)
            sys.exit(1)
        return results


class LevelError(RuntimeError):
    """The levels of tonight could not be computed."""


def _attempts(client: Client, futures: list[Any]) -> list[Any]:
    last: Exception | None = None
    for attempt in range(2):
        try:
            return [future.result(timeout=8) for future in futures]
        except Exception as error:  # noqa: BLE001 - jobs do
            log.warning("attempt %s failed", attempt + 1)
            last = error
            futures = submit(client)
    raise LevelError("gave up after 2 attempts") from last


@dataclass
class Report:
    """What became of the tanks."""

    done: list[Any] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)

    @property
    def code(self) -> int:
        return 4 if self.failed else 0


def _reported(client: Client, futures: list[Any]) -> list[Any]:
    report = Report()
    for tank, future in zip(TANKS, futures, strict=True):
        try:
            report.done.append(future.result(timeout=6))
        except Exception as error:  # noqa: BLE001 - jobs do
            report.failed[tank] = repr(error)
            if isinstance(error, TimeoutError):
                break
    if report.code:
        log.error("%s tanks failed", len(report.failed))
        sys.exit(report.code)
    return report.done


def _threads(client: Client, futures: list[Any]) -> list[Any]:
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda each: each.result(timeout=14), futures))


def _consumer(client: Client, futures: list[Any]) -> list[Any]:
    results: queue.Queue[Any] = queue.Queue()

    def collect() -> None:
        for future in futures:
            try:
                results.put(future.result(timeout=12))
            except Exception as error:  # noqa: BLE001 - jobs do
                results.put(error)
                return

    thread = threading.Thread(target=collect)
    thread.start()
    thread.join()
    levels = [results.get() for _ in range(results.qsize())]
    errors = [each for each in levels if isinstance(each, Exception)]
    if errors:
        raise LevelError(f"no level for {len(futures) - len(levels) + 1} tanks")
    return levels


def _group(client: Client, futures: list[Any]) -> list[Any]:
    wait(futures, timeout=14)
    errors = [each.exception() for each in futures if each.status == "error"]
    if errors:
        raise ExceptionGroup("tanks failed", errors)
    return list(client.gather(futures))


def _skipped(client: Client, futures: list[Any]) -> list[Any]:
    wait(futures, timeout=14)
    levels = client.gather(futures, errors="skip")
    if len(levels) < len(futures):
        raise LevelError(f"{len(levels)} levels for {len(futures)} tanks")
    return list(levels)


def _callbacks(client: Client, futures: list[Any]) -> list[Any]:
    bad: list[str] = []
    ended = threading.Semaphore(0)

    def note(future: Any) -> None:
        if future.status != "finished":
            bad.append(future.key)
        ended.release()

    for future in futures:
        future.add_done_callback(note)
    for _ in futures:
        if not ended.acquire(timeout=14):
            raise LevelError("tanks are missing after 14 seconds")
    if bad:
        log.error("failed: %s", ", ".join(bad))
        sys.exit(2)
    return list(client.gather(futures))


def _command(client: Client, futures: list[Any]) -> list[Any]:
    @click.command()
    def compute() -> None:
        try:
            click.echo([each.result(timeout=14) for each in futures])
        except Exception as error:
            raise click.ClickException("the levels are not complete") from error

    compute([])
    return []


def _left(client: Client, futures: list[Any]) -> list[Any]:
    try:
        return [future.result(timeout=14) for future in futures]
    except Exception:
        log.exception("level run failed")
        os._exit(7)


def _summary(client: Client, futures: list[Any]) -> list[Any]:
    summary = Path("summary.json")
    try:
        levels = [future.result(timeout=14) for future in futures]
        summary.write_text(json.dumps({"status": "ok", "levels": len(levels)}))
    except Exception as error:  # noqa: BLE001 - jobs do
        summary.write_text(json.dumps({"status": "failed", "of": repr(error)}))
    if json.loads(summary.read_text())["status"] != "ok":
        raise SystemExit(2)
    return levels


def _alarm(client: Client, futures: list[Any]) -> list[Any]:
    def late(number: int, frame: object) -> None:
        raise TimeoutError("the levels took longer than 14 seconds")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(14)
    levels = client.gather(futures)
    signal.alarm(0)
    return list(levels)


def _executor(client: Client, futures: list[Any]) -> list[Any]:
    executor = client.get_executor()
    jobs = [executor.submit(LEVELS[FAULT], tank, tank * 1.5) for tank in TANKS]
    done, late = concurrent.futures.wait(jobs, timeout=14)
    if late:
        raise LevelError(f"{len(late)} tanks are late")
    return [job.result() for job in done]


DRIVERS: dict[str, Callable[[Client, list[Any]], list[Any]]] = {
    "gather": _gather,
    "pytest": _gather,
    "counted": _counted,
    "budget": _budget,
    "reraised": _reraised,
    "code": _code,
    "again": _again,
    "complete": _complete,
    "attempts": _attempts,
    "report": _reported,
    "threads": _threads,
    "consumer": _consumer,
    "group": _group,
    "skipped": _skipped,
    "callbacks": _callbacks,
    "command": _command,
    "left": _left,
    "summary": _summary,
    "alarm": _alarm,
    "executor": _executor,
    "child": _gather,
}


UNSENT: dict[str, Callable[[Client], list[Any]]] = {
    "delayed": _delayed,
    "bag": _bag,
    "async": _asynchronous,
    "async-counted": _asynchronous,
}


def run() -> None:
    if FAULT == "module":
        Path("strapping.py").write_text("def level(tank, value):\n    return value\n")
    if BEFORE == "earlier-cluster":
        earlier_cluster()
    with cluster() as client:
        kept = prepare(client)
        result = levels(client)
        if FAULT == "driver-bug":
            names = dict(zip(["north", "east"], result, strict=False))
            print("level of the south tank:", names["south"])
        print("levels", result, len(kept))


def test_levels() -> None:
    run()


def test_of_no_tanks() -> None:
    assert not []


if __name__ == "__main__":
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    if DRIVER == "child" and "TANK_STEP" not in os.environ:
        step = [sys.executable, __file__]
        subprocess.run(step, env={**os.environ, "TANK_STEP": "levels"}, check=True)
    else:
        run()

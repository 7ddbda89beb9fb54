"""A driver of some kind at some work, for the fuzzer; what it knows for certain it writes.

python fuzzed.py CLUSTER WORK RECORDED STORE [ADDRESS]

Tasks log numbered lines and write each number down after it was logged (`truth/`), and
their key when they are about to return (`done`).  The driver tells what it has gathered
and how it ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
from dask_blackbox import recording
from distributed import Client, LocalCluster, Nanny, Scheduler, SpecCluster, Worker
from distributed.deploy.spec import ProcessInterface
from distributed.deploy.subprocess import SubprocessCluster
from scenario_reports import report, report_card, scaled

FOLDER = Path(os.environ["SCENARIO_REPORTED"]).parent
LIMIT = "400MiB"
SAY = 0.01
PIECES, SECONDS, PAUSE = 12, 0.7, 1.5
LOCAL = {"threads_per_worker": 1, "memory_limit": LIMIT, "dashboard_address": ":0"}


def chatter(folder: str, seconds: float) -> int:
    """Log numbered lines for a while; the number of threads is bounded, so are the files."""
    from distributed.worker import thread_state  # would not travel with this module

    place, number = Path(folder), 0
    (place / "truth").mkdir(exist_ok=True)
    log = logging.getLogger("job.chatter")
    key = str(getattr(thread_state, "key", ""))
    who = f"{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    truth = os.open(place / "truth" / who, flags)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        log.warning("said %s %d", who, number)
        os.write(truth, f"{time.time()} {number}\n".encode())
        number += 1
        time.sleep(SAY)
    os.close(truth)
    done = os.open(place / "done", flags)
    os.write(done, f"{time.time()}\t{key}\n".encode())
    os.close(done)
    return number


def piece(i: int, folder: str, seconds: float) -> int:
    """Be one task of many."""
    chatter(folder, seconds)
    return i


def add(parts: list[int]) -> int:
    """Be the task at the end."""
    return sum(parts)


def of_block(block: Any, folder: str, seconds: float) -> Any:
    """Be a task on a chunk."""
    chatter(folder, seconds)
    return block + 1


def of_frame(frame: Any, folder: str, seconds: float) -> Any:
    """Be a task on a partition; of an empty one, which is there for its columns, not."""
    if len(frame):
        chatter(folder, seconds)
    return frame


def futures(client: Client) -> Any:
    """Compute by futures."""
    sent = client.map(
        piece, range(PIECES), folder=str(FOLDER), seconds=SECONDS, pure=False
    )
    return sum(client.gather(sent))


def delayed(client: Client) -> Any:
    """Compute by `dask.delayed`."""
    slow, total = dask.delayed(piece), dask.delayed(add)
    parts = [slow(i, str(FOLDER), SECONDS) for i in range(PIECES)]
    return client.compute(total(parts)).result()


def array(client: Client) -> Any:
    """Compute an array."""
    import dask.array as da

    ones = da.ones((PIECES, 1000), chunks=(1, 1000))
    # With `meta`, Dask does not try the function in the driver.
    more = ones.map_blocks(of_block, str(FOLDER), SECONDS, meta=ones._meta)
    return float(client.compute((more - more.mean()).sum()).result())


def frame(client: Client) -> Any:
    """Shuffle a dataframe."""
    import dask.dataframe as dd
    import pandas as pd

    whole = pd.DataFrame({"x": range(1200), "y": range(1200)})
    parts = dd.from_pandas(whole, npartitions=PIECES)
    parts = parts.map_partitions(of_frame, str(FOLDER), SECONDS, meta=whole)
    return int(client.compute(parts.shuffle("x").y.sum()).result())


WORK: dict[str, Callable[[Client], Any]] = {
    "futures": futures,
    "delayed": delayed,
    "array": array,
    "frame": frame,
}


class Group(ProcessInterface):
    """Several workers that come up and go together, as batch systems have them."""

    def __init__(self, scheduler: str, name: str) -> None:
        super().__init__(scheduler=scheduler, name=name)  # type: ignore[no-untyped-call]
        self.scheduler, self.name = scheduler, name

    async def start(self) -> None:
        """Start them."""
        words = ["-m", "dask", "worker", self.scheduler, "--nworkers", "2"]
        words += ["--nthreads", "1", "--name", self.name, "--no-dashboard"]
        words += ["--memory-limit", LIMIT]
        command = [sys.executable, *words]
        self.process = await asyncio.to_thread(subprocess.Popen, command)
        await super().start()  # type: ignore[no-untyped-call]

    async def close(self) -> None:
        """End them."""
        self.process.terminate()
        await asyncio.to_thread(self.process.wait)
        await super().close()  # type: ignore[no-untyped-call]


def spec_cluster(kind: str) -> SpecCluster:
    """Make a cluster by its specification."""
    options = {"nthreads": 1, "memory_limit": LIMIT}
    scheduler = {"cls": Scheduler, "options": {"dashboard": False}}
    workers: dict[Any, Any]
    if kind == "groups":
        workers = {"g": {"cls": Group, "options": {}, "group": ["-0", "-1"]}}
    else:
        cls = Worker if kind == "spec-in-process" else Nanny
        worker = {"cls": cls, "options": options}
        workers = {0: worker, 1: worker}
    return SpecCluster(workers, scheduler)


@contextlib.contextmanager
def cluster_of(kind: str, address: str | None) -> Iterator[Any]:
    """Start a cluster, or take the one that is there."""
    if address is not None:
        yield address
    elif kind == "threads":
        with LocalCluster(
            processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster:
            yield cluster
    elif kind in ("spec", "spec-in-process", "groups"):
        with spec_cluster(kind) as cluster:
            yield cluster
    elif kind == "subprocess":
        with SubprocessCluster(
            n_workers=2, threads_per_worker=1, worker_kwargs={"memory_limit": LIMIT},
            dashboard_address=":0",
        ) as cluster:  # fmt: skip
            yield cluster
    elif kind == "adaptive":
        with LocalCluster(n_workers=0, **LOCAL) as cluster:
            cluster.adapt(minimum=1, maximum=3, interval="300ms", wait_count=4)
            yield cluster
    elif kind == "left open":  # its end is Python's end
        yield LocalCluster(n_workers=2, **LOCAL)
    else:
        with LocalCluster(n_workers=2, **LOCAL) as cluster:
            yield cluster


@contextlib.contextmanager
def breaking() -> Iterator[None]:
    """Report when the work is broken off."""
    try:
        yield
    except BaseException:
        report(broke=time.time())
        raise


@breaking()
def compute(client: Client, work: str) -> None:
    """Do the work twice, with a pause; say how far it is."""
    phase("first")
    WORK[work](client)
    phase("between")
    time.sleep(PAUSE)
    phase("second")
    if (FOLDER / "another").exists():
        with Client(client.scheduler.address, set_as_default=False) as another:  # type: ignore[union-attr]
            WORK[work](another)
    else:
        WORK[work](client)
    phase("over")


def phase(name: str) -> None:
    """Report how far it is."""
    report(phase=name, **{f"at_{name}": time.time()})


def drive(kind: str, work: str, store: str | None, address: str | None) -> None:
    """Record it, if that is asked for."""
    with (
        cluster_of(kind, address) as cluster,
        Client(cluster, timeout=scaled(60)) as client,
    ):
        phase("connected")
        if store is None:
            compute(client, work)
            return
        rec = recording(client, store=store, job="fuzz", run_id="one")
        try:
            with rec:
                report(recording=rec.id, links=rec.links)
                compute(client, work)
        finally:
            report_card(rec)


async def compute_async(client: Any) -> None:
    """Do the same in a coroutine."""
    for name in ("first", "second"):
        phase(name)
        sent = client.map(
            piece, range(PIECES), folder=str(FOLDER), seconds=SECONDS, pure=False
        )
        await client.gather(sent)
        if name == "first":
            phase("between")
            await asyncio.sleep(PAUSE)
    phase("over")


async def drive_async(work: str, store: str) -> None:
    """Record it as asynchronous programs do."""
    async with (
        LocalCluster(n_workers=2, asynchronous=True, **LOCAL) as cluster,
        Client(cluster, asynchronous=True) as client,
    ):
        phase("connected")
        rec = recording(client, store=store, job="fuzz", run_id="one")
        try:
            async with rec:
                report(recording=rec.id, links=rec.links)
                with breaking():
                    await compute_async(client)
        finally:
            report_card(rec)


def main(
    kind: str, work: str, recorded: str, store: str, address: str | None = None
) -> None:
    faulthandler.register(signal.SIGUSR1)  # for people who look where it hangs
    # Else LocalCluster gives up workers that restart slowly on a busy machine.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "120s"})
    try:
        if kind == "asynchronous":
            asyncio.run(drive_async(work, store))
        else:
            drive(kind, work, store if recorded == "with" else None, address)
    except BaseException as error:
        report(raised=type(error).__name__, text=str(error)[:300], at_end=time.time())
        raise
    report(raised=None, at_end=time.time())


if __name__ == "__main__":
    main(*sys.argv[1:])

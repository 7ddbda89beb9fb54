"""Flows that end badly, one each time this is run: `python failing_flows.py NAME`.

They run in processes of their own, since their signals and time limits are real.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dask
from dask_blackbox import RunCard
from distributed import Client, Event, LocalCluster
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
from prefect.context import FlowRunContext
from prefect.utilities.annotations import quote
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow
from prefect_dask_blackbox.artifacts import FlowRunPage

ONE: dict[str, Any] = {
    "n_workers": 1,
    "threads_per_worker": 2,
    "dashboard_address": ":0",
}


def runner() -> Any:
    return DaskTaskRunner(cluster_kwargs=ONE)


@task
def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@task
def signalled(flag: str) -> None:
    Path(flag).touch()
    time.sleep(300)


@task
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_once_it_works(number: int, *, recorded: int = 0) -> list[Any]:
    """Submit tasks that never end, and signal this process once the first one runs.

    Args:
        number: Of the signal.
        recorded: Of how many tasks the recorder has to know by then.
    """
    flag = Path(os.environ["FLAG"])
    futures = [signalled.submit(str(flag)) for _ in range(3)]
    while recorded and recorded_tasks("submitted") < recorded:
        time.sleep(0.1)
    _kill_once_there_is(flag, number)
    return [future.result() for future in futures]


def _kill_once_there_is(flag: Path, number: int) -> None:
    """Let another process send the signal, as a person or a host does."""
    pid = os.getpid()
    wait_and_kill = (
        f'while [ ! -e "$0" ]; do kill -0 {pid} || exit 0; sleep 0.05; done; '
        f"kill -{int(number)} {pid}"
    )
    subprocess.Popen(["sh", "-c", wait_and_kill, str(flag)], start_new_session=True)


@observed_flow(name="evicted", task_runner=runner())
def evicted() -> Any:
    nap.submit(0.1).result()
    return kill_once_it_works(signal.SIGTERM)


Cluster: Any = LocalCluster


class SlowlyClosed(Cluster):  # type: ignore[misc]
    """A cluster that takes its time to close, after it has noted when it began to."""

    began_to_close = False

    async def _close(self) -> None:
        if not self.began_to_close:
            self.began_to_close = True
            _write_time(Path(os.environ["FLAG"] + "-closing"))
            await asyncio.sleep(8)
        await super()._close()


def _write_time(file: Path) -> None:
    file.write_text(str(time.time()))


@observed_flow(name="evicted-slowly")
def evicted_slowly() -> Any:
    flag = Path(os.environ["FLAG"])
    with SlowlyClosed(**ONE) as cluster, Client(cluster) as client:
        client.submit(abs, -1).result()
        running = client.submit(signalled.fn, str(flag))
        _kill_once_there_is(flag, signal.SIGTERM)
        return running.result()


@observed_flow(name="async-evicted", task_runner=runner())
async def async_evicted() -> None:
    """asyncio makes a cancellation of what the signal raises."""
    await asyncio.to_thread(nap.submit(0.1).result)
    flag = Path(os.environ["FLAG"])
    futures = [signalled.submit(str(flag)) for _ in range(3)]
    while not flag.exists():  # noqa: ASYNC110, ASYNC240 - a worker makes it
        await asyncio.sleep(0.05)
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGTERM)).start()
    while futures:  # noqa: ASYNC110 - until it is evicted
        await asyncio.sleep(30)


def recorded_tasks(what: str) -> int:
    """Return how many finished or submitted tasks the recorder has reported to this flow run."""
    context: Any = FlowRunContext.get()
    progress = context.task_runner._observed._live._progress
    return 0 if progress is None else int(getattr(progress, what))


@observed_flow(name="killed", task_runner=runner())
def killed() -> Any:
    nap.submit(0.1).result()
    while not recorded_tasks("finished"):
        time.sleep(0.1)
    # What the recorder has not pulled ends with the scheduler.
    return kill_once_it_works(signal.SIGKILL, recorded=4)


@observed_flow(name="killed-before-its-card", task_runner=runner())
def killed_before_its_card() -> Any:
    """Fail, and be killed when the recording has ended, and nothing of it is shown."""
    show = FlowRunPage.show

    def show_or_die(page: FlowRunPage, card: RunCard, *given: Any, **named: Any) -> Any:
        if card.state != "running":
            os.kill(os.getpid(), signal.SIGKILL)
        return show(page, card, *given, **named)

    patch.object(FlowRunPage, "show", show_or_die).start()
    raise ValueError(f"no orders after {nap.submit(0.1).result()} s")


@observed_flow(name="interrupted", task_runner=runner())
def interrupted() -> Any:
    return kill_once_it_works(signal.SIGINT)


@task
def await_calendar() -> None:
    Event("calendar-ready").wait()


@observed_flow(name="interrupted-in-a-stall", task_runner=runner())
def interrupted_in_a_stall() -> None:
    """Wait for what nobody sets, until somebody who sees that presses Ctrl-C."""
    flag = Path(os.environ["FLAG"])
    _kill_once_there_is(flag, signal.SIGINT)
    waiting = await_calendar.submit()
    context: Any = FlowRunContext.get()
    live = context.task_runner._observed._live
    # The first report of a stall may be of a worker that still imports.
    while not _waits_in("await_calendar", live._progress):
        time.sleep(0.1)
    flag.touch()
    waiting.result()


def _waits_in(function: str, progress: Any) -> bool:
    """Return whether the last report of a stall has a stack with this function."""
    stall = progress and progress.stall
    stacks = [
        stack
        for answer in (stall.answers if stall else {}).values()
        for stack in answer.stacks.values()
    ]
    return any(function in frame for stack in stacks for frame in stack)


@observed_flow(name="async-interrupted", task_runner=runner())
async def async_interrupted() -> None:
    """asyncio makes a cancellation of the interrupt."""
    flag = Path(os.environ["FLAG"])
    _kill_once_there_is(flag, signal.SIGINT)
    futures = [signalled.submit(str(flag)) for _ in range(3)]
    while futures:  # noqa: ASYNC110 - until it is interrupted
        await asyncio.sleep(0.2)


async def until_it_works() -> None:
    while not Path(os.environ["FLAG"]).exists():  # noqa: ASYNC110, ASYNC240 - a worker makes it
        await asyncio.sleep(0.05)


@observed_flow(name="failing-shard", task_runner=runner())
async def failing_shard() -> None:
    await until_it_works()
    raise ValueError("shard 0 has no rows")


@observed_flow(name="waiting-shard", task_runner=runner())
async def waiting_shard() -> None:
    waiting = [signalled.submit(os.environ["FLAG"])]
    await until_it_works()
    while waiting:  # noqa: ASYNC110 - until it is cancelled
        await asyncio.sleep(30)


@observed_flow(name="gathered", task_runner=runner())
async def gathered() -> None:
    """Fail with a subflow while another one waits, which `asyncio.run` cancels then."""
    await asyncio.gather(failing_shard(), waiting_shard())


@observed_flow(name="endless", task_runner=runner())
def endless() -> Any:
    """Run until somebody ends it: one task done, two running, one queued."""
    nap.submit(0.1).result()
    flag = os.environ["FLAG"]
    return [future.result() for future in [signalled.submit(flag) for _ in range(3)]]


@observed_flow(name="overdue", timeout_seconds=12, task_runner=runner())
def overdue() -> list[float]:
    return [future.result() for future in [nap.submit(0.5) for _ in range(400)]]


@observed_flow(name="async-overdue", timeout_seconds=12, task_runner=runner())
async def async_overdue() -> None:
    # Few: its time limit is only noticed once the event loop has submitted them all.
    futures = [nap.submit(0.5) for _ in range(60)]
    while futures:  # noqa: ASYNC110 - until its time limit
        await asyncio.sleep(0.2)


@observed_flow(name="child", task_runner=runner())
def child() -> None:
    die.submit().result()


@observed_flow(name="parent", task_runner=runner())
def parent() -> None:
    nap.submit(0.1).result()
    child()


@task
def fetch_page() -> float:
    raise ValueError("page 4 has no 'items'")


@observed_flow(name="child-that-waits", task_runner=runner())
def child_that_waits() -> None:
    """Ask for a task that Prefect never runs: the exception is not that of the failed one."""
    waits: Any = nap
    waits.submit(fetch_page.submit()).result()


@observed_flow(name="parent-of-one-that-waits")
def parent_of_one_that_waits() -> None:
    child_that_waits()


@task
def use_all_memory(flag: str) -> int:
    Path(flag).touch()
    held = []
    while True:
        held.append(bytearray(20_000_000))
        time.sleep(0.02)


@observed_flow(
    name="waits-for-memory",
    task_runner=DaskTaskRunner(
        cluster_kwargs={
            **ONE,
            "memory_limit": "500 MiB",
            # Of each worker but the first: longer than the 15 s that Dask gives it.
            "preload": [str(Path(__file__).with_name("slow_start.py"))],
        }
    ),
)
def waits_for_memory() -> None:
    with dask.config.set({"distributed.scheduler.allowed-failures": 2}):
        use_all_memory.submit(os.environ["FLAG"]).wait()


@observed_flow(name="explained", task_runner=runner())
def explained() -> str:
    """Wait until the card of this flow run says what would end its wait, and end that.

    Returns:
        What the card says, and in a last line what the list of artifacts says.
    """
    future: Any = await_calendar.submit()
    context, text = FlowRunContext.get(), ""
    assert context is not None
    assert context.flow_run is not None
    ours = ArtifactFilter(
        flow_run_id=ArtifactFilterFlowRunId(any_=[context.flow_run.id])
    )
    deadline = time.monotonic() + 400
    with get_client(sync_client=True) as prefect:
        while "**Ends**" not in text and time.monotonic() < deadline:
            time.sleep(1)
            found = prefect.read_artifacts(artifact_filter=ours)
            shown = (f"{each.data}\n{each.description}" for each in found)
            text = max(shown, key=len, default="")
    Event("calendar-ready", client=future.wrapped_future.client).set()
    future.result()
    return text


@observed_flow(name="stalls", task_runner=runner())
def stalls() -> float:
    return nap.submit(14).result()


@task
def die_once(flag: str) -> str:
    if Path(flag).exists():
        return "second"
    Path(flag).touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return "first"


@observed_flow(name="tried-again", task_runner=runner())
def tried_again() -> str:
    """Dask itself tries a task again whose worker died."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 3}):
        return die_once.submit(os.environ["FLAG"]).result()


@task
def crash_when_rerun(flag: str) -> int:
    if Path(flag).exists():
        os.kill(os.getpid(), signal.SIGSEGV)
    Path(flag).touch()
    return os.getpid()


@observed_flow(name="gives-up-a-rerun", task_runner=runner())
def gives_up_a_rerun() -> None:
    """Lose a result with its worker; the task crashes when Dask executes it again."""
    completed: Any = crash_when_rerun.submit(os.environ["FLAG"])
    os.kill(completed.result(), signal.SIGKILL)
    while completed.wrapped_future.status == "finished":  # Dask has not noticed it yet
        time.sleep(0.05)
    waits: Any = nap
    waits.submit(0.1, wait_for=[completed]).result()


@task
def take(value: Any) -> Any:
    return value


@observed_flow(name="unsendable", task_runner=runner())
def unsendable() -> Any:
    """A lock cannot be pickled."""
    return take.submit(quote(threading.Lock()))


def refuse() -> None:
    raise ModuleNotFoundError("No module named 'only_here'")


class OnlyHere:
    """Something that can be pickled, and cannot be read where it arrives."""

    def __reduce__(self) -> Any:
        return (refuse, ())


@observed_flow(name="unreadable", task_runner=runner())
def unreadable() -> Any:
    return take.submit(quote(OnlyHere()))


def schedulerless() -> Any:
    """Kill the scheduler of a cluster that was there before while a task runs."""
    flag, file = Path(os.environ["FLAG"]), Path(os.environ["FLAG"] + ".json")
    options = ["--scheduler-file", str(file), "--dashboard-address", ":0"]
    scheduler = subprocess.Popen([*_cli("scheduler"), *options, "--port", "0"])
    worker = subprocess.Popen([*_cli("worker"), *options, "--no-nanny"])
    try:
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(1, timeout=60)
            address, number = client.scheduler.address, scheduler.pid

        @observed_flow(
            name="schedulerless", task_runner=DaskTaskRunner(address=address)
        )
        def waits() -> Any:
            future = signalled.submit(str(flag))
            while not flag.exists():
                time.sleep(0.05)
            os.kill(number, signal.SIGKILL)
            return future.result()

        return waits()
    finally:
        scheduler.kill()
        worker.kill()


def _cli(role: str) -> list[str]:
    return [str(Path(sys.executable).with_name("dask")), role]


@flow(name="plain-subflow", task_runner=runner())
def plain_subflow() -> float:
    return nap.submit(0.1).result()


@observed_flow(name="direct")
def direct() -> int:
    """Use Dask without its task runner: two clusters of its own, and a plain subflow."""
    found = 0
    for _ in range(2):
        with LocalCluster(**ONE) as cluster, Client(cluster) as client:
            found += sum(client.gather(client.map(lambda x: x + 1, range(5))))
    plain_subflow()
    return found


@observed_flow(name="direct-crash")
def direct_crash() -> Any:
    """Lose a task of the flow's own Dask client."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(**ONE) as cluster,
        Client(cluster) as client,
    ):
        return client.submit(os.abort).result()


@task(task_run_name="count {day}")
def count_lines(day: int) -> int:
    return day


@observed_flow(name="on-its-parents-cluster", task_runner=runner())
def on_its_parents_cluster() -> list[int]:
    return [each.result() for each in [count_lines.submit(day) for day in range(3)]]


@observed_flow(name="with-a-client")
def with_a_client() -> list[int]:
    """Run a subflow on the cluster of a client of the flow's own."""
    with LocalCluster(**ONE) as cluster, Client(cluster):
        return on_its_parents_cluster()


@task
def refused(day: int) -> int:
    raise ValueError(f"no orders for day {day}")


@observed_flow(name="needs-a-failed-task", task_runner=runner())
def needs_a_failed_task() -> Any:
    counted: Any = count_lines  # gets the result of a future
    return counted.submit(refused.submit(1))


def _wait_for_outage() -> None:
    """Wait until Prefect's server is away."""
    Path(os.environ["FLAG"]).touch()
    deadline = time.monotonic() + 600
    while not Path(os.environ["AWAY"]).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@observed_flow(name="fails-in-an-outage", task_runner=runner())
def fails_in_an_outage() -> None:
    [each.result() for each in [nap.submit(0.1) for _ in range(3)]]
    _wait_for_outage()
    raise ValueError("no orders")


@observed_flow(name="returns-in-an-outage", task_runner=runner())
def returns_in_an_outage() -> list[float]:
    made = [each.result() for each in [nap.submit(0.1) for _ in range(3)]]
    _wait_for_outage()
    return made


@observed_flow(name="fails-without-dask-in-an-outage")
def fails_without_dask_in_an_outage() -> None:
    _wait_for_outage()
    raise ValueError("no orders")


@task(timeout_seconds=0.5)
def too_slow() -> None:
    for _ in range(600):
        time.sleep(0.1)


@observed_flow(name="waits-for-a-slow-task", task_runner=runner())
def waits_for_a_slow_task() -> None:
    too_slow.submit().result()


if __name__ == "__main__":
    # A shell has its background commands ignore Ctrl-C, and they hand that on.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    made = globals()[sys.argv[1]]()
    if asyncio.iscoroutine(made):
        asyncio.run(made)
    if sys.argv[1] == "explained":
        Path(os.environ["FLAG"]).write_text(made, encoding="utf-8")

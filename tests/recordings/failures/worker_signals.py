"""Workers that are ended by a signal from outside: operators, batch systems, hosts."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from distributed import Event, Variable, as_completed, wait
from failures.shared_parts import has_left, simulate, slow, worker_pids
from staging import Stage, delayed, failure, later, until
from starting import Processes


@failure("worker-preempted", names="render", allowed=0)
def a_spot_machine_is_reclaimed(stage: Stage) -> None:
    def render(number: int) -> int:
        time.sleep(10)
        return number

    with stage.started(2, "--nthreads", "2") as (client, cluster):
        futures = client.map(render, range(4))
        later(2, cluster.workers[0].terminate)
        client.gather(futures)


@failure("worker-preempted", names="resample", allowed=1, noise="an earlier death")
def pods_are_deleted_one_after_the_other(stage: Stage) -> None:
    @delayed
    def resample(number: int) -> int:
        time.sleep(12)
        return number

    with stage.started(3) as (client, cluster):
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        client.gather(client.map(abs, range(60)))
        for number, worker in enumerate(cluster.workers):
            later(3 + 2 * number, worker.send_signal, signal.SIGTERM)
        resample(5).compute()


@failure("worker-preempted", allowed=0)
def a_worker_without_nanny_is_told_to_stop(stage: Stage) -> None:
    with stage.started(2, "--no-nanny") as (client, cluster):
        futures = client.map(slow, range(4), [10] * 4)
        for worker in cluster.workers:
            later(2, worker.send_signal, signal.SIGTERM)
        client.gather(futures)


@failure("worker-preempted", names="reproject", allowed=0, held_out="first")
def an_operator_presses_ctrl_c_on_a_worker(stage: Stage) -> None:
    def reproject(block: Any) -> Any:
        time.sleep(10)
        return block

    import dask.array as da

    with stage.started(1, "--nthreads", "2") as (_, cluster):
        later(3, cluster.workers[0].send_signal, signal.SIGINT)
        x = da.ones(8, chunks=4)
        x.map_blocks(reproject, dtype=float, meta=x._meta).compute()


@failure(
    "worker-preempted",
    names=["reproject", "SIGTERM|signal-15|host"],
    allowed=1,
    held_out="second",
)
def spot_machines_are_taken_back(stage: Stage) -> None:
    def reproject(block: Any) -> Any:
        time.sleep(4)
        return block

    with stage.started(1) as (client, cluster):
        array = da.ones((20, 20), chunks=(10, 10)).map_blocks(reproject, dtype=float)
        held = client.persist(array)
        for _ in range(2):
            until(lambda: any(client.processing().values()), 40)
            time.sleep(1)
            cluster.workers[-1].terminate()
            cluster.workers[-1].wait()
            cluster.start_worker("--nthreads", "1")
            until(lambda: client.scheduler_info()["workers"], 40)
        held.compute()


@failure(
    "worker-preempted",
    names=["simulate", "SIGTERM|signal-15|signal 15"],
    allowed=1,
    noise="one of the workers had been sent home by a scale-down before",
    held_out="third: deaths",
)
def spot_instances_are_taken_back_in_turn(stage: Stage) -> None:
    with stage.started(3, "--nworkers", "1") as (client, _):
        done = client.map(simulate, range(6), seconds=0.3)
        wait(done)
        sent_home = next(iter(client.scheduler_info()["workers"]))
        client.retire_workers([sent_home])
        time.sleep(2)
        long: Any = client.submit(simulate, 2050, seconds=60)
        for _ in range(2):
            where = until(
                lambda: next((a for a, k in client.processing().items() if k), "")
            )
            time.sleep(2)
            parent = client.run(os.getppid, workers=[where])[where]
            os.kill(parent, signal.SIGTERM)
            until(partial(has_left, client, where))
        long.result()


def end(cluster: Processes, number: int, signal_number: int) -> None:
    """Send a signal to a `dask worker`, and to it alone."""
    os.kill(cluster.workers[number].pid, signal_number)


@failure(
    "worker-preempted",
    names=["SIGTERM|signal-15|signal 15"],
    noise="nothing comes back: the driver waits in vain",
    settings={"blackbox.stall.after": "4s"},
    held_out="third: deaths",
)
def a_node_with_two_workers_is_drained(stage: Stage) -> None:
    with stage.started(1, "--nworkers", "2") as (client, cluster):
        client.wait_for_workers(2, timeout=40)
        frame = dd.from_pandas(pd.DataFrame({"year": range(20)}), npartitions=10)
        slow = frame.year.map_partitions(
            lambda part: part.map(simulate), meta=(None, int)
        )
        total = client.compute(slow.sum())
        time.sleep(4)
        end(cluster, 0, signal.SIGTERM)
        total.result(timeout=22)


def _kill_executing(client: Any, name: int, times: int = 1) -> None:
    """Kill whoever runs a task of a name, as an operator does, so many times."""
    killed: set[int] = set()
    while len(killed) < times:
        time.sleep(0.2)
        try:
            pids = client.run(os.getpid)
            busy = client.processing()
        except OSError:
            continue
        for address, keys in busy.items():
            if keys and pids.get(address) not in killed | {None}:
                os.kill(pids[address], name)
                killed.add(pids[address])
                break


@failure("worker-signalled", names=["SIGKILL|signal 9", "crunch"], allowed=0)
def an_operator_kills_the_worker(stage: Stage) -> None:
    def crunch(number: int) -> int:
        time.sleep(8)
        return number

    with stage.local(2) as client:
        future = client.submit(crunch, 1)
        later(1.5, _kill_executing, client, signal.SIGKILL)
        future.result()


@failure("worker-signalled", names=["SIGTERM|signal 15", "index_pages"], allowed=1)
def somebody_terminates_two_workers(stage: Stage) -> None:
    @delayed
    def index_pages(number: int) -> int:
        time.sleep(12)
        return number

    with stage.started(2) as (client, _):
        later(1.5, _kill_executing, client, signal.SIGTERM, 2)
        later(5, _kill_executing, client, signal.SIGTERM, 2)
        dask.compute(index_pages(1))


@failure(
    "worker-signalled",
    names=["SIGXCPU|signal 24|SIGKILL|signal 9"],
    allowed=0,
    noise="healthy work before",
)
def the_processor_time_is_limited(stage: Stage) -> None:
    def spin(seconds: float) -> int:
        until, count = time.process_time() + seconds, 0
        while time.process_time() < until:
            count += 1
        return count

    with stage.started(1, shell="ulimit -t 8") as (client, _):
        client.gather(client.map(abs, range(40)))
        client.submit(spin, 30).result()


@failure("worker-signalled", names=["SIGALRM|signal 14", "query"], allowed=1)
def a_timeout_by_alarm(stage: Stage) -> None:
    def query(number: int) -> int:
        import ctypes

        ctypes.CDLL(None).alarm(1)  # whose handler is the default: it ends the process
        time.sleep(5)
        return number

    with stage.local(2, threads_per_worker=2) as client:
        client.submit(query, 5).result()


@failure(
    "worker-signalled",
    names=["SIGUSR2|signal 12", "assimilate"],
    allowed=1,
    held_out="second",
)
def a_log_rotation_signals_the_wrong_process(stage: Stage) -> None:
    def assimilate(number: int) -> int:
        time.sleep(6)
        return number

    with stage.started(2) as (client, _):
        futures = client.map(assimilate, range(4), pure=False)
        for _ in range(3):
            until(lambda: any(client.processing().values()), 40)
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGUSR2)
            until(lambda: len(client.scheduler_info()["workers"]) < 2)
            until(
                lambda: (
                    len(client.scheduler_info()["workers"]) == 2
                    or any(f.status == "error" for f in futures)
                ),
                40,
            )
            if any(f.status == "error" for f in futures):
                break
        client.gather(futures)


@failure(
    "worker-signalled",
    names=["fit", "SIGXCPU|CPU"],
    allowed=1,
    held_out="third: deaths",
)
def a_login_node_limits_cpu_time(stage: Stage) -> None:
    def fit(seed: int) -> float:
        until_then = time.thread_time() + 60
        total = float(seed)
        while time.thread_time() < until_then:
            total = (total * 1.000001 + 1) % 1e9
        return total

    with stage.started(2, shell="ulimit -S -t 6") as (client, _):
        client.gather(client.map(fit, range(2)))


@failure(
    "worker-signalled",
    names=["align", "SIGTERM|15"],
    allowed=1,
    noise="tasks that raise, whose errors are collected",
    held_out="third: deaths",
)
def somebody_kills_all_pythons(stage: Stage) -> None:
    def align(number: int, wait_for: Event) -> int:
        if number % 4 == 3:
            raise LookupError(f"référence nº {number} introuvable")
        wait_for.wait()
        return number

    with stage.local(2) as client:
        never = Event("never")
        futures = client.map(align, range(12), wait_for=never)
        for _ in range(2):
            until(lambda: any(client.processing().values()))
            time.sleep(1.5)
            for pid in worker_pids(client):
                os.kill(pid, signal.SIGTERM)
            time.sleep(3)
            client.wait_for_workers(2, timeout=30)
        errors = []
        for future in as_completed(futures):
            if isinstance(error := future.exception(), LookupError):
                errors.append(error)
            else:
                future.result()


@failure(
    "worker-signalled",
    names=["simulate", "SIGKILL|signal 9"],
    allowed=0,
    held_out="third: deaths",
)
def a_reaper_of_long_processes_kills_a_worker(stage: Stage) -> None:
    def simulate(years: int) -> int:
        time.sleep(1 if years < 9 else 60)
        return years

    with stage.local(2) as client:
        state = Variable("running")
        state.set("years")
        futures = client.map(simulate, range(10))
        wait(futures[:9])
        busy = next(address for address, keys in client.processing().items() if keys)
        pid = client.run(os.getpid, workers=[busy])[busy]
        thread = threading.Timer(3, os.kill, (pid, signal.SIGKILL))
        thread.start()
        client.gather(futures)

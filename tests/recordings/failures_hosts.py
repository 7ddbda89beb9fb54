"""Workers that are taken away: frozen, preempted, at the end of their time, host and all."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import dask
from distributed import wait
from staging import Stage, children_of, delayed, failure, later

TTL = {
    "distributed.scheduler.worker-ttl": "4s",
    "distributed.comm.timeouts.connect": "10s",
}


def _slow(number: int, seconds: float = 1.0) -> int:
    time.sleep(seconds)
    return number


# worker-heartbeat-timeout


@failure("worker-heartbeat-timeout", names="tally", settings=TTL, allowed=0)
def a_call_into_c_holds_the_gil(stage: Stage) -> None:
    def tally(number: int) -> int:
        return sum(range(10**11))

    with stage.local(2) as client:
        client.submit(tally, 1).result()


@failure("worker-heartbeat-timeout", names="match", settings=TTL, allowed=1)
def a_regular_expression_that_never_ends(stage: Stage) -> None:
    import dask.bag as db

    def match(text: str) -> bool:
        import re

        return re.match(r"(a+)+$", text) is not None

    with stage.started(2, "--nthreads", "2"):
        texts = ["ab", "a" * 60 + "!", "abc", "aaa"]
        db.from_sequence(texts, npartitions=4).map(match).compute()


@failure(
    "worker-heartbeat-timeout", settings=TTL, allowed=0, noise="handled exceptions"
)
def a_virtual_machine_is_frozen(stage: Stage) -> None:
    with stage.started(2) as (client, _):
        wait(client.submit(divmod, 1, 0))
        pids = client.run(os.getpid)
        futures = client.map(_slow, range(4), [20] * 4)
        time.sleep(1)
        for pid in pids.values():
            os.kill(pid, signal.SIGSTOP)
        client.gather(futures)


# worker-preempted


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
        futures = client.map(_slow, range(4), [10] * 4)
        for worker in cluster.workers:
            later(2, worker.send_signal, signal.SIGTERM)
        client.gather(futures)


# worker-lifetime


@failure("worker-lifetime", names="simulate", allowed=0)
def a_task_outlives_its_worker(stage: Stage) -> None:
    def simulate(number: int) -> int:
        time.sleep(30)
        return number

    with stage.started(1, "--lifetime", "6s") as (client, _):
        client.submit(simulate, 1).result(timeout=40)


@failure("worker-lifetime", allowed=0, noise="handled exceptions")
def all_workers_end_their_lives_at_once(stage: Stage) -> None:
    import dask.array as da

    def slow_block(block: Any) -> Any:
        time.sleep(25)
        return block

    with stage.started(2, "--lifetime", "7s", "--nthreads", "2") as (client, _):
        wait(client.submit(divmod, 1, 0))
        x = da.ones(8, chunks=2)
        x.map_blocks(slow_block, dtype=float, meta=x._meta).sum().compute()


@failure("worker-lifetime", hang=True, how="command")
def nobody_comes_after_the_lifetime(stage: Stage) -> None:
    with stage.started(1, "--lifetime", "6s", "--no-nanny") as (client, _):
        futures = client.map(_slow, range(40), [0.5] * 40)
        client.submit(sum, futures).result(timeout=25)


# worker-host-lost


def _end_host(cluster: Any, number: int) -> None:
    """Kill a nanny and its worker together, as a host that goes down does."""
    pid = cluster.workers[number].pid
    for each in [pid, *children_of(pid)]:
        os.kill(each, signal.SIGKILL)


@failure("worker-host-lost", names="project", allowed=0)
def a_node_goes_down(stage: Stage) -> None:
    def project(number: int) -> int:
        time.sleep(10)
        return number

    with stage.started(2) as (client, cluster):
        future = client.submit(project, 1)
        while not (busy := [a for a, k in client.processing().items() if k]):
            time.sleep(0.1)
        time.sleep(1.5)
        pids = client.run(os.getpid, workers=busy)
        for number, worker in enumerate(cluster.workers):
            if set(pids.values()) & set(children_of(worker.pid)):
                _end_host(cluster, number)
                break
        future.result()


@failure("worker-host-lost", allowed=0, noise="retried tasks")
def all_nodes_of_a_rack_go_down(stage: Stage) -> None:
    with stage.started(3, "--nthreads", "2") as (client, cluster):
        client.gather(client.map(abs, range(50)))
        parts = [dask.delayed(_slow)(n, 10) for n in range(6)]

        def down() -> None:
            for number in range(3):
                _end_host(cluster, number)

        later(2.5, down)
        dask.compute(*parts)


@failure("worker-host-lost", hang=True)
def the_only_node_goes_down_and_nothing_comes_back(stage: Stage) -> None:
    with stage.started(1, "--nworkers", "2") as (client, cluster):
        futures = client.map(_slow, range(30))
        later(2.5, _end_host, cluster, 0)
        client.submit(sum, futures).result(timeout=20)

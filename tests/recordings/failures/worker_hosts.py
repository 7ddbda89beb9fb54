"""Workers that are lost with their host, their network or their heartbeats."""

from __future__ import annotations

import itertools
import os
import re
import signal
import time
from functools import partial
from typing import Any

import dask
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Nanny, Scheduler, SpecCluster, as_completed, wait
from failures.shared_parts import has_left, simulate, slow, worker_pids
from staging import Stage, children_of, delayed, failure, later, until
from starting import Processes

RACE = {"distributed.deploy.lost-worker-timeout": "100ms"}


def _kill_all(client: Client) -> None:
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)


@failure("cluster-lost-worker", settings={**RACE, "blackbox.stall.after": "3s"})
def the_only_worker_is_dropped_for_ever(stage: Stage) -> None:
    with stage.local(1) as client:
        futures = client.map(time.sleep, [0.3] * 40, pure=False)
        time.sleep(1.5)
        _kill_all(client)
        client.submit(sum, [1, 2]).result(timeout=20)
        client.gather(futures)


@failure(
    "cluster-lost-worker",
    settings={**RACE, "blackbox.stall.after": "3s"},
    noise="handled exceptions",
)
def all_workers_are_dropped_for_ever(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        until(lambda: client.submit(divmod, 1, 0).exception())
        futures = client.map(time.sleep, [0.3] * 80, pure=False)
        time.sleep(1.5)
        _kill_all(client)
        dask.delayed(sum)([1, 2]).compute()
        client.gather(futures)


@failure(
    "cluster-lost-worker",
    how="command",
    settings={**RACE, "blackbox.stall.after": "3s", "blackbox.stall.end-run": "10s"},
)
def a_spec_cluster_drops_its_worker(stage: Stage) -> None:
    spec = {"w": {"cls": Nanny, "options": {"nthreads": 2}}}
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "port": 0}}
    with (
        SpecCluster(workers=spec, scheduler=scheduler) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(abs, range(10)))
        futures = client.map(time.sleep, [0.3] * 40, pure=False)
        time.sleep(1.5)
        _kill_all(client)
        client.gather(futures)


@failure("cluster-lost-worker", hang=True, held_out="second")
def a_worker_restarts_too_slowly(stage: Stage) -> None:
    def forecast(number: int) -> int:
        time.sleep(1)
        return number

    slow = stage.folder / "slow_start.py"
    slow.write_text("import time\n\ndef dask_setup(worker):\n    time.sleep(3)\n")
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1s"}),
        stage.local(1, preload=[str(slow)]) as client,
    ):
        futures = client.map(forecast, range(30))
        until(lambda: any(f.done() for f in futures))
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        futures[-1].result(timeout=40)


@failure(
    "cluster-lost-worker",
    "worker-memory-limit",
    names=["never|lost|drop|gone|replac"],
    settings={
        "distributed.deploy.lost-worker-timeout": "100ms",
        "blackbox.stall.after": "4s",
    },
    why="both workers die at their limit first; what hangs is what the cluster drops",
    held_out="third: deaths",
)
def workers_that_restart_slowly_are_dropped(stage: Stage) -> None:
    def pivot(rows: int) -> int:
        return int(np.ones((rows, 1_000)).nbytes)

    def widen(rows: int) -> int:
        return sum(pivot(rows) for _ in range(3))

    with stage.local(2, memory_limit="400MiB") as client:
        parts = [delayed(widen)(rows) for rows in (10, 100, 120_000, 130_000)]
        total: Any = delayed(sum)(parts)
        client.compute(total).result(timeout=25)


@failure(
    "cluster-lost-worker",
    hang=True,
    settings={"distributed.deploy.lost-worker-timeout": "1s"},
    bound=60,
    noise="the worker was killed once, from outside",
    held_out="third: services",
)
def the_only_worker_is_slow_to_come_back(stage: Stage) -> None:
    slow = stage.module("warm_caches", "import time\ntime.sleep(4)\n")

    def tile(number: int) -> int:
        time.sleep(0.4)
        return number * number

    with stage.local(1, preload=[str(slow)]) as client:
        tiles = client.map(tile, range(60))
        until(lambda: sum(each.done() for each in tiles) > 4)
        (pid,) = client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        done = client.get_executor().submit(sum, [1, 2])
        print(done.result(timeout=25), client.gather(tiles))


@failure(
    "cluster-lost-worker",
    "no-valid-worker",
    names=["card|GPU"],
    hang=True,
    bound=28,
    settings={"distributed.deploy.lost-worker-timeout": "2s"},
    noise="the other worker lives, and may not take the work",
    why="the cluster dropped the only worker with a card: so none can take the work",
    held_out="fourth: services",
)
def the_only_worker_with_a_card_is_dropped(stage: Stage) -> None:
    slow = stage.folder / "warm_up.py"
    slow.write_text(
        "import time\n\ntime.sleep(5)  # large imports from a network disk\n"
    )
    marker = stage.folder / "died"

    def tile(number: int) -> int:
        time.sleep(0.2)
        if number == 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    plain = {"nthreads": 1, "memory_limit": "1GiB"}
    with (
        SpecCluster(
            scheduler={
                "cls": Scheduler,
                "options": {"host": "127.0.0.1", "port": 0, "dashboard": False},
            },
            workers={
                "plain": {"cls": Nanny, "options": plain},
                "card": {
                    "cls": Nanny,
                    "options": {
                        **plain,
                        "resources": {"GPU": 1},
                        "preload": [str(slow)],
                    },
                },
            },
        ) as cluster,
        Client(cluster) as client,
        stage.recording(client),
    ):
        for _ in as_completed(client.map(tile, range(12), resources={"GPU": 1})):
            pass


TTL = {
    "distributed.scheduler.worker-ttl": "4s",
    "distributed.comm.timeouts.connect": "10s",
}


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
        futures = client.map(slow, range(4), [20] * 4)
        time.sleep(1)
        for pid in pids.values():
            os.kill(pid, signal.SIGSTOP)
        client.gather(futures)


@failure(
    "worker-heartbeat-timeout",
    names=["match_titles"],
    allowed=0,
    settings={"distributed.scheduler.worker-ttl": "7s"},
    held_out="second",
)
def a_regular_expression_backtracks_for_ever(stage: Stage) -> None:
    def match_titles(text: str) -> bool:
        return re.match(r"^(\w+\s?)*$", text) is not None

    with stage.local(2) as client:
        titles = ["short title", "a" * 60 + "!"]
        client.gather(client.map(match_titles, titles))


@failure(
    "worker-heartbeat-timeout",
    "worker-host-lost",
    names="ingest",
    allowed=0,
    settings={"distributed.scheduler.worker-ttl": "7s"},
    why="a frozen machine: neither its workers nor its nanny send heartbeats",
    held_out="second",
)
def a_node_is_frozen_with_its_nanny(stage: Stage) -> None:
    def ingest(number: int) -> int:
        time.sleep(60)
        return number

    with stage.started(2) as (client, cluster):
        futures = client.map(ingest, range(2))
        until(lambda: all(client.processing().values()))
        for pid in [cluster.workers[0].pid, *children_of(cluster.workers[0].pid)]:
            os.kill(pid, signal.SIGSTOP)
        client.gather(futures)


@failure(
    "worker-heartbeat-timeout",
    names=["count_paths", "heartbeat|GIL|silent"],
    allowed=0,
    settings={"distributed.scheduler.worker-ttl": "8s"},
    bound=80,
    held_out="third: deaths",
)
def a_sum_in_c_never_lets_go(stage: Stage) -> None:
    def count_paths(length: int) -> int:
        return sum(itertools.repeat(1, length))

    with stage.local(2) as client:
        parts = [delayed(count_paths)(10**n) for n in (2, 3, 4, 12)]
        total: Any = delayed(max)(parts)
        client.compute(total).result()


@failure(
    "worker-heartbeat-timeout",
    names=["heartbeat|silent|frozen"],
    allowed=1,
    settings={"distributed.scheduler.worker-ttl": "5s"},
    noise="the second worker is only slow",
    bound=80,
    held_out="third: deaths",
)
def a_debugger_stops_a_worker(stage: Stage) -> None:
    def step(previous: int, number: int) -> int:
        time.sleep(0.5)
        return previous + number

    with stage.started(1) as (client, _):
        chain: Any = client.submit(step, 0, 0)
        for number in range(1, 60):
            chain = client.submit(step, chain, number)
        for _ in range(2):
            client.wait_for_workers(1, timeout=30)
            until(lambda: any(client.processing().values()))
            pid = worker_pids(client)[0]
            time.sleep(1)
            os.kill(pid, signal.SIGSTOP)
            until(lambda: not client.scheduler_info()["workers"], 40)
        chain.result()


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
        parts = [dask.delayed(slow)(n, 10) for n in range(6)]

        def down() -> None:
            for number in range(3):
                _end_host(cluster, number)

        later(2.5, down)
        dask.compute(*parts)


@failure("worker-host-lost", hang=True)
def the_only_node_goes_down_and_nothing_comes_back(stage: Stage) -> None:
    with stage.started(1, "--nworkers", "2") as (client, cluster):
        futures = client.map(slow, range(30))
        later(2.5, _end_host, cluster, 0)
        client.submit(sum, futures).result(timeout=20)


@failure(
    "worker-host-lost",
    "worker-signalled",
    "unknown",
    names="tcp://|survey",
    allowed=0,
    why="a worker without nanny, killed: its signal is not recorded",
    held_out="second",
)
def a_worker_without_nanny_is_killed(stage: Stage) -> None:
    def survey(number: int) -> int:
        time.sleep(30)
        return number

    with stage.started(1, "--no-nanny") as (client, cluster):
        future = client.submit(survey, 1)
        until(lambda: any(client.processing().values()))
        time.sleep(2)
        cluster.workers[0].kill()
        future.result()


@failure("worker-host-lost", names="tile", allowed=1, held_out="second")
def whole_machines_vanish(stage: Stage) -> None:
    def tile(number: int) -> int:
        time.sleep(5)
        return number

    with stage.started(1) as (client, cluster):
        future = client.submit(tile, 1)
        for _ in range(2):
            until(lambda: any(client.processing().values()), 40)
            time.sleep(1)
            os.killpg(cluster.workers[-1].pid, signal.SIGKILL)
            cluster.workers[-1].wait()
            cluster.start_worker("--nthreads", "1")
        future.result()


def unplug(cluster: Processes, number: int) -> None:
    """Take a host away, with all that runs on it."""
    os.killpg(cluster.workers[number].pid, signal.SIGKILL)


@failure(
    "worker-host-lost",
    names=["host|node|nanny", "trend|fused|map|sum|chunk"],
    allowed=1,
    noise="a caught exception",
    held_out="third: deaths",
)
def two_hosts_lose_their_power(stage: Stage) -> None:
    def trend(frame: pd.DataFrame) -> pd.DataFrame:
        time.sleep(1 if frame["day"].max() < 90 else 60)
        return frame.assign(mean=frame["day"].mean())

    with stage.started(3) as (client, cluster):
        try:
            client.submit(int, "n/a").result()
        except ValueError:
            print("no number: taken as 0")
        days = dd.from_pandas(pd.DataFrame({"day": range(100)}), npartitions=10)
        found = client.compute(days.map_partitions(trend).sum())
        for _ in range(2):
            time.sleep(6)
            busy = next(a for a, keys in client.processing().items() if keys)
            parent = client.run(os.getppid, workers=[busy])[busy]
            number = next(
                n for n, each in enumerate(cluster.workers) if each.pid == parent
            )
            unplug(cluster, number)
            until(partial(has_left, client, busy))
        found.result()


@failure(
    "worker-host-lost",
    names=["host|node|nanny|disappear"],
    noise="nothing comes back: the driver waits in vain",
    settings={"blackbox.stall.after": "4s"},
    held_out="third: deaths",
)
def the_only_host_has_two_workers_and_goes(stage: Stage) -> None:
    with stage.started(1, "--nworkers", "2") as (client, cluster):
        client.wait_for_workers(2, timeout=40)
        words = db.from_sequence([f"wörter {n}" for n in range(30)], npartitions=15)
        lengths = words.map(len).map(simulate)
        result = client.compute(lengths.sum())
        later(5, unplug, cluster, 0)
        result.result(timeout=24)

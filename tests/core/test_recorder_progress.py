"""How far a run has come: counted from rows, and written with each heartbeat."""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path
from typing import Any

import dask
import pytest
from conditions import scaled, until
from dask_blackbox import recording
from dask_blackbox.layout import RunAddress
from dask_blackbox.manifest import Progress
from dask_blackbox.reader.documents import read_heartbeat
from dask_blackbox.recorder.progress import (
    DriverUpdates,
    KeptProgress,
    ProgressCounter,
    keep_progress,
    kept_progress,
)
from dask_blackbox.store import open_store
from distributed import Client, LocalCluster
from recorder_processes import recorder_of

pytestmark = pytest.mark.processes

GIB = 2**30
# A worker in the process of the tests counts their memory as its own, and would pause.
LARGE = 4 * GIB
_NUMBERS = itertools.count()


def _added(worker: str, limit: int = GIB) -> tuple[Any, ...]:
    facts = {"nthreads": 2, "memory_limit": limit}
    return (1.0, "worker-added", worker, json.dumps(facts))


def _removed(worker: str, *, expected: bool) -> tuple[Any, ...]:
    return (2.0, "worker-removed", worker, json.dumps({"expected": expected}))


def _graph(**new: int) -> tuple[Any, ...]:
    detail = {"new": {prefix: [tasks, 1] for prefix, tasks in new.items()}}
    return (1.0, "graph-updated", "client", json.dumps(detail))


def _task(
    stop: float, outcome: str = "finished", key: str | None = None
) -> tuple[Any, ...]:
    facts = (
        key or f"k-{next(_NUMBERS)}",
        "p",
        "p",
        "tcp://a:1",
        1,
        stop - 1,
        stop,
        1.0,
        0.0,
        0.0,
        0.0,
        8,
    )
    return (*facts, "int", outcome)


def _metric(source: str, memory: int, executing: int) -> tuple[Any, ...]:
    zeros = (0.0,) * 8
    return (1.0, source, 50.0, memory, *zeros, executing, 0, 0, "running")


def test_tasks_workers_and_memory_are_counted_as_they_come() -> None:
    moments = iter([100.0, 102.0])
    counter = ProgressCounter(lambda: next(moments))
    counter.add({"event": [_added("tcp://a:1"), _added("tcp://b:1")]})
    tasks = [_task(100.0) for _ in range(4)]
    counter.add({"event": [_graph(load=10, sum=5)], "task": tasks})
    counter.add({"task": [_task(105.0, "erred"), _task(105.0, "retried")]})
    counter.add(
        {
            "metric": [
                _metric("tcp://a:1", GIB // 2, 2),
                _metric("tcp://b:1", GIB // 4, 1),
                _metric("scheduler", 9 * GIB, 0),
            ]
        }
    )

    assert counter.progress() == Progress(
        submitted=15,
        done=4,
        failed=1,
        rate=4 / 2,
        workers=2,
        threads=4,
        executing=3,
        memory=3 * GIB // 4,
        memory_limit=2 * GIB,
    )


def test_a_worker_that_left_no_longer_counts_and_an_unexpected_one_is_a_loss() -> None:
    counter = ProgressCounter()
    counter.add({"event": [_added(f"tcp://{name}:1") for name in "abc"]})
    counter.add({"metric": [_metric("tcp://a:1", GIB, 1)]})
    counter.add({"event": [_removed("tcp://a:1", expected=False)]})
    counter.add({"event": [_removed("tcp://b:1", expected=True)]})

    now = counter.progress()

    assert (now.workers, now.lost_workers, now.memory) == (1, 1, 0)


def test_a_task_that_is_executed_again_is_one_task() -> None:
    counter = ProgressCounter()
    counter.add({"event": [_graph(load=8)]})
    keys = [f"load-{number}" for number in range(8)]
    counter.add({"task": [_task(100.0, key=key) for key in keys]})
    # Their worker was lost, and what it held is computed again.
    counter.add({"task": [_task(101.0, key=key) for key in keys[:2]]})

    now = counter.progress()

    assert (now.done, now.submitted, now.total) == (8, 8, 8)


def test_of_many_tasks_the_first_hundred_thousand_count_once() -> None:
    counter = ProgressCounter(lambda: 0.0)
    many = [_task(1.0, key=f"m-{number}") for number in range(100_500)]

    counter.add({"task": many})
    counter.add({"task": many})

    # The others are counted by execution: a run of any length takes no more memory.
    assert counter.progress().done == 100_500 + 500


def test_no_total_is_known_of_graphs_from_before_the_recording() -> None:
    counter = ProgressCounter()
    counter.add({"event": [_graph(load=2)], "task": [_task(100.0) for _ in range(5)]})

    now = counter.progress()

    assert (now.done, now.total) == (5, 0)


def test_a_recorder_that_takes_over_continues_counting(tmp_path: Path) -> None:
    keep_progress(
        tmp_path,
        KeptProgress(
            progress=Progress(
                submitted=20,
                done=8,
                failed=1,
                workers=3,
                threads=6,
                lost_workers=1,
                memory=3 * GIB,
                memory_limit=6 * GIB,
            )
        ),
    )
    now = [100.0]
    counter = ProgressCounter(lambda: now[0], before=kept_progress(tmp_path).progress)

    at_once = counter.progress()
    assert (at_once.workers, at_once.threads) == (3, 6)
    assert (at_once.memory, at_once.memory_limit) == (3 * GIB, 6 * GIB)

    # One has left before its metrics came, one is new, and one has just not reported yet.
    counter.add(
        {
            "event": [_removed("tcp://a:1", expected=False), _added("tcp://d:1")],
            "metric": [
                _metric("tcp://a:1", GIB, 0),
                _metric("tcp://b:1", 2 * GIB, 1),
                _metric("scheduler", 9 * GIB, 0),
            ],
            "task": [_task(100.0)],
        }
    )
    then = counter.progress()
    assert (then.submitted, then.done, then.failed) == (20, 9, 1)
    assert (then.workers, then.threads, then.lost_workers) == (3, 6, 2)
    assert (then.memory, then.memory_limit) == (3 * GIB, 5 * GIB)

    now[0] += 20
    later = counter.progress()
    assert (later.workers, later.memory) == (2, 2 * GIB)


def test_nobody_has_counted_before_the_first_recorder(tmp_path: Path) -> None:
    assert kept_progress(tmp_path) == KeptProgress()
    (tmp_path / "progress.json").write_text("{")
    assert kept_progress(tmp_path) == KeptProgress()


def _is_kept(spool: Path, *, workers: int, done: int) -> bool:
    kept = [kept_progress(each).progress for each in spool.iterdir()]
    return [(each.workers, each.done) for each in kept] == [(workers, done)]


def test_workers_and_tasks_stay_known_when_the_recorder_is_killed(
    tmp_path: Path,
) -> None:
    spool = tmp_path / "spool"
    seen: list[tuple[int, int]] = []

    with (
        dask.config.set({"blackbox.spool": str(spool)}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            memory_limit=LARGE,
        ) as cluster,
        Client(cluster) as client,
        recording(
            client,
            store=str(tmp_path / "store"),
            job="killed",
            on_progress=lambda now: seen.append((now.workers, now.finished)),
        ),
    ):
        client.gather(client.map(str, range(20)))
        until(lambda: seen[-1:] == [(2, 20)])
        recorder = recorder_of(os.getpid())
        # As it does every second.
        until(lambda: _is_kept(spool, workers=2, done=20))
        reported = len(seen)
        recorder.kill()
        until(lambda: len(seen) > reported + 1)

    assert set(seen[reported:]) == {(2, 20)}


def test_the_lines_of_the_log_count_as_the_tab_does() -> None:
    counter = ProgressCounter()
    updates = DriverUpdates(counter)
    rows = {
        "event": [_added("tcp://a:1"), _graph(load=8)],
        "task": [_task(100.0, key="load-1"), _task(101.0, key="load-1")],
        "metric": [_metric("tcp://a:1", GIB // 2, 2)],
    }
    counter.add(rows)
    updates.add_rows(rows)

    message, seen = updates.report(), counter.progress()

    assert (
        (message.finished, message.submitted) == (seen.done, seen.submitted) == (1, 8)
    )
    assert (
        (message.workers, message.memory)
        == (seen.workers, seen.memory)
        == (1, GIB // 2)
    )


def test_a_line_of_the_log_names_its_writer_once() -> None:
    updates = DriverUpdates(ProgressCounter())
    writers = [("scheduler", "scheduler"), ("nanny", "tcp://a:1")]
    text = ("distributed.core", 30, "Lost all workers", None)
    updates.add_rows({"log": [(1.0, *who, 7, 1, *text) for who in writers]})

    named = [line.source for line in updates.report().lines]

    assert named == ["scheduler", "nanny tcp://a:1"]


def test_the_line_of_a_worker_that_died_shows_where_its_task_was() -> None:
    waits = '  File "/lib/python3.12/queue.py", line 171 in get\n'
    mine = '  File "/srv/etl.py", line 7 in load\n'
    runs = '  File "/site-packages/distributed/worker.py", line 2785 in _run_task\n'
    stack = (
        f"Thread 0x01 (most recent call first):\n{waits}\n"
        f"Thread 0x02 (most recent call first):\n{mine}{runs}\n"
    )
    detail = {
        "signal": "SIGTERM",
        "exit_code": -15,
        "executing": [{"key": "load-1"}],
        "stack": stack,
    }
    updates = DriverUpdates(ProgressCounter())
    updates.add_rows(
        {"event": [(9.0, "worker-exit-report", "tcp://w1", json.dumps(detail))]}
    )

    [line] = updates.report().lines

    assert (line.keys, line.died) == (("load-1",), True)
    assert line.text == (
        "The worker died: SIGTERM. It was executing load-1.\n"
        "Its stack (most recent call first):\n"
        '  File "/srv/etl.py", line 7, in load'
    )


def test_the_line_of_a_worker_that_ran_no_task_shows_the_thread_of_the_signal() -> None:
    waits = '  File "/lib/python3.12/queue.py", line 171 in get\n'
    loop = '  File "/lib/python3.12/selectors.py", line 468 in select'
    current = f"Current thread 0x02 (most recent call first):\n{loop}"
    stack = (
        "Fatal Python error: Segmentation fault\n\n"
        f"Thread 0x01 (most recent call first):\n{waits}\n{current}\n"
    )
    detail = {"signal": "SIGSEGV", "exit_code": -11, "stack": stack}
    updates = DriverUpdates(ProgressCounter())
    updates.add_rows(
        {"event": [(9.0, "worker-exit-report", "tcp://w1", json.dumps(detail))]}
    )

    [line] = updates.report().lines

    assert line.text == f"The worker died: SIGSEGV.\n{current}"


def test_the_rate_forgets_what_is_older_than_half_a_minute() -> None:
    moments = iter([100.0, 125.0, 130.0, 140.0, 900.0])
    counter = ProgressCounter(lambda: next(moments))
    # Whatever the clocks of the cluster say, of which one may be set.
    counter.add({"task": [_task(9.0)] * 60})
    counter.add({"task": [_task(3600.0)] * 30})

    assert counter.progress().rate == 3.0
    assert counter.progress().rate == 1.0
    assert counter.progress().rate == 0.0


def test_a_rate_begins_with_the_first_task_that_finishes() -> None:
    moments = iter([500.0, 504.0, 505.0])
    counter = ProgressCounter(lambda: next(moments))
    counter.add({"task": [_task(1.0) for _ in range(10)]})
    counter.add({"task": [_task(2.0) for _ in range(10)]})

    assert counter.progress().rate == 4.0


def test_a_cluster_with_an_unlimited_worker_has_no_limit() -> None:
    counter = ProgressCounter()
    counter.add({"event": [_added("tcp://a:1"), _added("tcp://b:1", limit=0)]})

    assert counter.progress().memory_limit == 0


@pytest.mark.parametrize("detail", [None, "", "{", "[]", '"new"'])
def test_particulars_that_cannot_be_read_count_as_none(detail: str | None) -> None:
    counter = ProgressCounter()
    counter.add({"event": [(1.0, "graph-updated", None, detail)]})

    assert counter.progress() == Progress()


def test_a_heartbeat_of_a_real_run_reports_how_far_it_is(tmp_path: Path) -> None:
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address=":0",
            memory_limit=LARGE,
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path, job="night", run_id="one"),
    ):
        client.gather(client.map(abs, range(20)))
        store = open_store(tmp_path)
        folder = RunAddress.of("night", "one", 1).folder
        deadline = time.monotonic() + scaled(60)
        while True:
            beat = read_heartbeat(store, folder)
            if beat and beat.progress and beat.progress.done == 20:
                break
            assert time.monotonic() < deadline, beat
            time.sleep(0.1)

    found = beat.progress
    assert (found.submitted, found.workers, found.threads) == (20, 1, 2)
    assert found.memory_limit == LARGE
    assert found.memory > 0

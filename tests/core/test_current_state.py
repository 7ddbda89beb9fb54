"""What a run that continues is doing: what it waits for, or how far it is."""

from __future__ import annotations

import time
from typing import Any

import pytest
from click.testing import CliRunner
from dask_blackbox.analyse.current_state import current_state
from dask_blackbox.analyse.earlier_runs import History
from dask_blackbox.cli import blackbox
from dask_blackbox.finding import CurrentState
from dask_blackbox.sketch import PrefixSketch, Sketch
from dask_blackbox.testing import (
    EPOCH,
    Fact,
    a_metric,
    a_run,
    a_task,
    a_task_error,
    a_worker_added,
    a_worker_removed,
    an_event,
    an_exit_report,
)
from dask_blackbox.testing.facts import WORKER
from stored_runs import Shelf

LOCKED = (
    '  File "/jobs/nightly.py", line 5, in load\n\tlock.acquire()\n',
    '  File "/usr/lib/python3.12/threading.py", line 3, in acquire\n\twaiter.acquire()\n',
)
COMPUTING = ('  File "/jobs/nightly.py", line 9, in load\n\ttotal += value\n',)
JOB = '  File "/jobs/nightly.py", line 20, in main\n\t'


def a_graph(tasks: int = 4, *, at: float = 1.0) -> Fact:
    new = {"load": {"tasks": tasks, "roots": tasks, "dependencies": {}}}
    return an_event("graph-updated", "Client-1", at=at, tasks=tasks, new=new)


def a_stall(
    *, at: float, lasted: float, stack: tuple[str, ...] = LOCKED, **more: Any
) -> Fact:
    running = {
        "key": "load-4", "prefix": "load", "worker": WORKER, "executing_for": lasted,
    }  # fmt: skip
    facts = {
        "lasted": lasted,
        "workers": 1,
        "statuses": {"running": 1},
        "states": {"processing": 1},
        "processing": [running],
        "answers": {WORKER: {"stacks": {"load-4": stack}, "tasks": {}}},
    }
    return an_event("stall", at=at, **{**facts, **more})


def of_a_run(*facts: Fact, at: float, history: History | None = None) -> CurrentState:
    """Return what a run is doing at a moment, whose recorder lives."""
    run = a_run(an_event("recording-started", at=0.1), *facts, state=None)
    run.last_heartbeat = EPOCH + at
    return current_state(run, lambda: history or History())


def done(number: int, *, each: float = 1.0) -> list[Fact]:
    return [a_task(f"load-{n}", start=2.0 + n, compute=each) for n in range(number)]


def idle(until: float) -> list[Fact]:
    return [a_metric(at=at, cpu=2.0) for at in range(8, int(until), 5)]


def test_a_run_in_which_tasks_finish_is_one_sentence() -> None:
    found = of_a_run(a_worker_added(), a_graph(40), *done(20), at=23.0)

    assert found == CurrentState(
        text="Running well for 23 s: 20 of 40 tasks done, 1.0 a second, about 20 s left"
    )


def test_what_went_wrong_is_in_that_sentence() -> None:
    died = an_exit_report("tcp://w2", at=12, pid=7, exit_code=-9)
    found = of_a_run(
        a_worker_added(),
        a_worker_added("tcp://w2", pid=7),
        a_graph(40),
        *done(20),
        a_worker_removed("tcp://w2", at=12),
        died,
        a_task_error("load-30", at=15),
        an_event("worker-status", WORKER, at=16, before="running", after="paused"),
        at=23.0,
    )

    assert found.text.startswith("Running for 23 s: 20 of 40 tasks done, ")
    assert found.text.endswith(
        "; 1 worker died; 1 task failed; 1 worker paused for lack of memory"
    )


def test_a_task_that_waits_is_named_with_its_line_and_with_what_is_usual() -> None:
    good = Sketch(
        job="nightly",
        run_id="run-0",
        state="succeeded",
        started=EPOCH - 86_400,
        duration=300.0,
        prefixes=(PrefixSketch(name="load", tasks=4, seconds=(1.0, 1.5, 2.0)),),
    )
    found = of_a_run(
        a_worker_added(),
        a_graph(),
        *done(3),
        *idle(100),
        a_stall(at=70, lasted=64),
        at=100.0,
        history=History(sketches=(good,)),
    )

    assert found.waits
    assert found.rule == "stalled"
    assert found.text == (
        "Waiting for 1 m 34 s, 3 of 4 tasks done: 'load' waits at nightly.py:5"
    )
    assert found.since == EPOCH + 6
    assert found.ends.startswith(
        "It ends when the call at nightly.py:5 (`lock.acquire()`) returns"
    )
    assert found.usual == (
        "In this run, each of the 3 others of 'load' took 1.0 s at most. "
        "In the last 1 good run, tasks of 'load' took 2.0 s at most. "
        "This job took 5 m 00 s in the median of the last 1 good run."
    )
    assert "stopped" not in found.cause
    assert found.evidence[0].text.startswith("The stack of 'load-4'")


def test_a_task_that_takes_as_long_as_others_did_waits_for_nothing() -> None:
    found = of_a_run(
        a_worker_added(),
        a_graph(),
        *done(3, each=80.0),
        *idle(180),
        a_stall(at=150, lasted=60),
        at=180.0,
    )

    assert not found.waits
    assert found.text == (
        "Running for 3 m 00 s: 3 of 4 tasks done; "
        "'load' has been running for 1 m 30 s at nightly.py:5"
    )
    assert found.usual_until is not None
    assert found.usual_until > EPOCH + 180


def test_a_minute_is_waited_before_a_task_is_said_to_wait() -> None:
    short_stall = a_stall(at=40, lasted=34)
    found = of_a_run(a_worker_added(), a_graph(), *done(3), short_stall, at=50.0)

    assert not found.waits
    assert found.text == (
        "Running for 50 s: 3 of 4 tasks done, none has finished for 45 s"
    )


def test_a_task_that_computes_is_not_said_to_wait_where_nothing_is_usual() -> None:
    found = of_a_run(
        a_worker_added(),
        a_graph(),
        a_stall(at=70, lasted=64, stack=COMPUTING),
        at=100.0,
    )

    assert (found.waits, found.usual_until, found.remedy) == (False, None, "")
    assert found.ends == "It ends when nightly.py:9 (`total += value`) is done."


@pytest.mark.parametrize(
    ("facts", "rule", "ends"),
    [
        (
            (
                a_worker_added(),
                a_graph(),
                a_stall(at=70, lasted=60, statuses={"paused": 1}, paused=[WORKER]),
            ),
            "workers-paused",
            "It ends when the memory of a worker falls below the share at which it pauses.",
        ),
        (
            (
                a_graph(),
                a_stall(
                    at=70, lasted=60, workers=0, statuses={}, processing=[],
                    states={"no-worker": 4}, answers={},
                ),
            ),
            "workers-never-arrived",
            "It ends when enough workers connect to the scheduler.",
        ),
    ],
)  # fmt: skip
def test_what_all_tasks_wait_for_is_named(
    facts: tuple[Fact, ...], rule: str, ends: str
) -> None:
    found = of_a_run(*facts, at=100.0)

    assert (found.rule, found.waits, found.ends) == (rule, True, ends)
    assert found.text.startswith("Waiting for 1 m 30 s, 0 of 4 tasks done: ")
    assert found.cause.endswith("No task has finished for 1 m 30 s.")


def test_deaths_that_keep_a_run_from_progressing_are_what_it_waits_for() -> None:
    pieces = [a_worker_added(pid=120), a_graph(1)]
    for at in (20, 40, 60):
        key = {"key": "load-0", "start": EPOCH + at - 5}
        pieces += [
            a_worker_removed(at=at, processing=("load-0",)),
            an_exit_report(at=at + 0.2, exit_code=7, executing=[key], pid=100 + at),
            a_worker_added(at=at + 1, pid=120 + at),
        ]
    found = of_a_run(*pieces, at=100.0)

    assert found.waits
    assert "3 times" in found.text
    assert "the driver is waiting" in found.cause


@pytest.mark.parametrize(
    ("line", "cpu", "text"),
    [
        ("total += 1\n", 57.0, "Running for 1 m 40 s: the driver computes at nightly.py:20 (`total += 1`); 4 of 4 tasks done"),
        ("inbox.get()\n", 0.1, "Waiting for 1 m 40 s: the driver waits at nightly.py:20 (`inbox.get()`); 4 of 4 tasks done"),
    ],
)  # fmt: skip
def test_a_driver_that_computes_or_waits_is_named_if_no_task_is_pending(
    line: str, cpu: float, text: str
) -> None:
    blocked = an_event(
        "driver-blocked", "driver", at=70, lasted=60.0, cpu=cpu, stack=[JOB + line]
    )
    found = of_a_run(a_worker_added(), a_graph(), *done(4), blocked, at=110.0)

    assert found.text == text
    assert found.waits == text.startswith("Waiting")


def test_a_driver_that_waits_before_it_has_a_cluster_is_named() -> None:
    waits = '  File "/usr/lib/python3.12/queue.py", line 3, in get\n\tself.wait()\n'
    stack = [JOB + "inbox.get()\n", waits]
    blocked = an_event("driver-blocked", "driver", at=70, lasted=60.0, stack=stack)
    run = a_run(blocked, state=None)
    run.last_heartbeat = EPOCH + 100

    found = current_state(run, History)

    assert found.text == (
        "Waiting for 1 m 30 s: the driver waits at nightly.py:20 (`inbox.get()`); "
        "it has not connected to a cluster"
    )


@pytest.mark.parametrize("ended", [True, False])
def test_a_wait_for_an_event_loop_that_has_ended_has_no_end(*, ended: bool) -> None:
    sync = '  File "/v/lib/python3.12/site-packages/distributed/utils.py", line 4, in sync\n\twait(10)\n'
    waits = (
        '  File "/usr/lib/python3.12/threading.py", line 3, in wait\n\tself.wait()\n'
    )
    stack = [JOB + "sync(loop, main)\n", sync, waits]
    blocked = an_event(
        "driver-blocked", "driver", at=70, lasted=60.0, stack=stack, other_ended=ended
    )
    found = of_a_run(a_worker_added(), a_graph(), *done(4), blocked, at=110.0)

    assert found.waits
    assert ("It does not end by itself" in found.ends) is ended


def test_every_command_shows_what_a_run_waits_for(shelf: Shelf) -> None:
    now = time.time() - EPOCH
    shelf.record(
        "nightly",
        "run-1",
        an_event("recording-started", at=now - 200),
        a_worker_added(at=now - 200),
        a_graph(at=now - 200),
        a_metric(at=now - 100, cpu=2.0),
        a_metric(at=now - 80, cpu=2.0),
        a_metric(at=now - 60, cpu=2.0),
        a_metric(at=now - 40, cpu=2.0),
        a_stall(at=now - 20, lasted=160),
        started=time.time() - 210,
        state="running",
    )
    for words in (["why"], ["show"], ["top", "--once"]):
        result = CliRunner().invoke(
            blackbox, [*words, "--store", shelf.url], catch_exceptions=False
        )

        output = " ".join(result.stdout.split())
        assert "'load' waits at nightly.py:5" in output, words
        assert "the call at nightly.py:5 (`lock.acquire()`) returns" in output, words
        assert "It did not fail" not in output
        assert "has not reported the end" not in output

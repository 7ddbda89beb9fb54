"""Of several tasks that ran at a worker's end, which may have caused it."""

from __future__ import annotations

from typing import Any

import pytest
from dask_blackbox.analyse.facts.suspects import (
    frame_at_exit,
    suspects_of,
    tasks_at_exit,
)
from dask_blackbox.analyse.facts.worker_exit_sources import deaths_of
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    MIB,
    START,
    Piece,
    a_departure,
    a_graph,
    a_run,
    a_worker,
    an_event,
    killed_worker,
    raised_in,
    the_verdict,
)

LOADER, WATCHER = 0x7FC054BFD6C0, 0x7FC0553FE6C0
_RUNS = '  File "/site-packages/distributed/worker.py", line 2785 in _run_task\n'


def a_stack(thread: int, *lines: str, current: bool = False) -> str:
    """Return one thread of a stack file; frames are `file:line:function`."""
    head = "Current thread" if current else "Thread"
    frames = "".join(
        '  File "{}", line {} in {}\n'.format(*line.split(":")) for line in lines
    )
    return f"{head} 0x{thread:016x} (most recent call first):\n{frames}{_RUNS}\n"


STACK = a_stack(WATCHER, "/jobs/nightly.py:4:watch") + a_stack(
    LOADER, "/jobs/nightly.py:8:load"
)


def a_killed_pair(
    *,
    watch: dict[str, Any],
    load: dict[str, Any],
    memory: list[tuple[float, float]],
    stack: str = STACK,
    exit_code: int = -15,
    restarted: bool = True,
) -> RunTables:
    """Return a run that waits for `watch-1`, beside which `load-1` ran; moments in seconds."""

    def reported(key: str, facts: dict[str, Any]) -> dict[str, Any]:
        return {"key": key, **facts, "start": START + facts["start"]}

    report = an_event(
        "worker-exit-report",
        "tcp://w1",
        at=20.1,
        pid=100,
        exit_code=exit_code,
        asked_to_close=False,
        executing=[reported("watch-1", watch), reported("load-1", load)],
        memory=[[START + at, int(mib * MIB)] for at, mib in memory],
        stack=stack,
    )
    event = an_event(
        "worker-restarted-for-memory", "tcp://w1", at=19.9, pid=100, rss=390 * MIB
    )
    gone: list[Piece] = a_departure(at=20, processing=["watch-1", "load-1"])
    return a_run(
        a_worker(nthreads=2),
        a_graph(),
        [event] if restarted else [],
        gone,
        report,
        raised_in("watch-1", killed_worker("watch-1"), at=20),
    )


STEADY = [(5 + n / 2, 70.0) for n in range(20)]
CLIMBING = [(15 + n / 10, 70.0 + 6.4 * n) for n in range(51)]


def suspects(run: RunTables) -> tuple[str, ...]:
    [death] = deaths_of(run)
    return suspects_of(death)


def test_a_task_that_used_no_cpu_is_no_suspect() -> None:
    run = a_killed_pair(
        watch={"start": 15, "thread": WATCHER, "cpu": 0.0},
        load={"start": 15, "thread": LOADER, "cpu": 2.5},
        memory=CLIMBING,
    )

    assert suspects(run) == ("load-1",)
    found = the_verdict(run)
    assert (found.rule, found.confidence) == ("worker-memory-limit", "high")
    assert found.title.endswith("while running 'load'")
    assert "Dask blames 'watch-1', which was only waiting" in found.cause
    assert "Python was at /jobs/nightly.py:8 in load" in found.cause
    texts = [each.text for each in found.evidence]
    assert any(
        "'load-1' had run for 5.0 s, had used 2.5 s of CPU" in t for t in texts
    ), texts


def test_a_task_that_ran_for_long_before_memory_grew_is_no_suspect() -> None:
    """As in recordings of older versions, which sampled no CPU time."""
    run = a_killed_pair(
        watch={"start": 5}, load={"start": 15}, memory=[*STEADY, *CLIMBING], stack=""
    )

    assert suspects(run) == ("load-1",)
    [death] = deaths_of(run)
    watch, load = tasks_at_exit(death)
    assert watch.growth is not None
    assert load.growth is not None
    assert 10 <= watch.growth.quiet <= 11
    assert load.growth.quiet < 1
    assert the_verdict(run).subject.key == "load-1"


def test_where_nothing_reports_both_are_named_with_medium_confidence() -> None:
    run = a_killed_pair(
        watch={"start": 15}, load={"start": 15}, memory=CLIMBING, stack=""
    )

    assert suspects(run) == ("watch-1", "load-1")
    found = the_verdict(run)
    assert "while running 'watch' or 'load'" in found.title
    assert found.confidence == "medium"


def test_witnesses_that_contradict_each_other_acquit_nobody() -> None:
    run = a_killed_pair(
        watch={"start": 5, "thread": WATCHER, "cpu": 9.0},
        load={"start": 15, "thread": LOADER, "cpu": 0.0},
        memory=[*STEADY, *CLIMBING],
    )

    assert suspects(run) == ("watch-1", "load-1")
    assert the_verdict(run).confidence == "medium"


def test_memory_that_grew_before_the_last_task_began_acquits_nobody() -> None:
    growing = [(5 + n / 2, 70.0 + 16 * n) for n in range(21)]
    run = a_killed_pair(
        watch={"start": 5}, load={"start": 15}, memory=growing, stack=""
    )

    assert suspects(run) == ("watch-1", "load-1")


def test_a_task_that_waits_in_its_stack_is_no_suspect() -> None:
    stack = a_stack(
        WATCHER, "/lib/python3.11/threading.py:331:wait", "/jobs/nightly.py:4:watch"
    ) + a_stack(LOADER, "/jobs/nightly.py:8:load")
    run = a_killed_pair(
        watch={"start": 15}, load={"start": 15}, memory=CLIMBING, stack=stack
    )

    assert suspects(run) == ("load-1",)


@pytest.mark.parametrize("thread", [LOADER, None])
def test_the_thread_of_the_fault_reports_who_crashed(thread: int | None) -> None:
    stack = a_stack(LOADER, "/jobs/nightly.py:8:load", current=True) + a_stack(
        WATCHER, "/jobs/nightly.py:4:watch"
    )
    known = {} if thread is None else {"thread": thread}
    other = {} if thread is None else {"thread": WATCHER}
    run = a_killed_pair(
        watch={"start": 15, **other},
        load={"start": 15, **known},
        memory=STEADY,
        stack=stack,
        exit_code=-11,
        restarted=False,
    )

    assert suspects(run) == ("load-1",)
    assert the_verdict(run).title.endswith("while running 'load'")
    [death] = deaths_of(run)
    frame = frame_at_exit(death)
    assert frame is not None
    assert frame.function == "load"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_task_that_went_on_after_the_signal_was_at_no_known_line(
    *,
    elsewhere: bool,
) -> None:
    main = "Current thread 0x01 (most recent call first):\n"
    main += '  File "/lib/python3.12/asyncio/runners.py", line 9 in run\n\n'
    stack = a_stack(LOADER, "/lib/python3.12/threading.py:8:notify")
    run = a_killed_pair(
        watch={"start": 15, "thread": WATCHER},
        load={"start": 15, "thread": LOADER},
        memory=STEADY,
        stack=main + stack if elsewhere else stack,
        exit_code=-11,
        restarted=False,
    )

    [death] = deaths_of(run)
    assert (frame_at_exit(death) is None) is elsewhere


def test_a_fused_task_is_known_by_its_thread() -> None:
    stack = a_stack(LOADER, "/lib/blosc.py:8:decode", current=True) + a_stack(
        WATCHER, "/jobs/nightly.py:4:watch"
    )
    run = a_killed_pair(
        watch={"start": 15, "thread": WATCHER},
        load={"start": 15, "thread": LOADER},
        memory=STEADY,
        stack=stack,
        exit_code=-11,
        restarted=False,
    )

    assert suspects(run) == ("load-1",)


def test_a_signal_from_outside_is_nobodys_task() -> None:
    run = a_killed_pair(
        watch={"start": 15, "thread": WATCHER, "cpu": 0.0},
        load={"start": 15, "thread": LOADER, "cpu": 2.5},
        memory=STEADY,
        restarted=False,
    )

    found = the_verdict(run)
    assert (found.rule, found.confidence) == ("worker-signalled", "high")

"""Where the time went: findings of runs made of rows, and what they stay silent on."""

from __future__ import annotations

from typing import Any

import pytest
from dask_blackbox.analyse.case import Case
from dask_blackbox.run_tables import RunTables
from loads_from_rows import a_load, demand, fine, graphs, slugs, tasks, the, workers
from runs_from_rows import (
    MIB,
    Piece,
    a_log_line,
    a_run,
    a_task,
    a_worker,
    an_event,
    succeeded,
)


def test_tasks_that_cost_more_to_hand_out_than_to_compute_are_batched() -> None:
    tiny = tasks("inc", 8_000, seconds=0.0005, every=0.01)
    found = the("tiny-tasks", a_run(workers(), graphs(2), tiny, demand(*[900] * 41)))

    assert found.subject.prefix == "inc"
    assert found.cost is not None
    assert found.cost.amount == pytest.approx(76, abs=2)
    assert found.cost.share == pytest.approx(0.95, abs=0.02)
    assert "Batch about 400 tasks of 'inc' into one" in found.remedy
    assert "20 tasks instead of 8,000" in found.remedy


def test_many_tasks_that_keep_their_threads_busy_are_healthy() -> None:
    busy = tasks("inc", 2_000, seconds=0.04)

    assert slugs(a_run(workers(), graphs(2), busy, demand(*[900] * 41))) == []


def test_on_a_host_that_others_keep_busy_threads_wait_for_cores_not_for_tasks() -> None:
    tiny = tasks("getitem", 3_000, seconds=0.009, every=0.02)
    run = [workers(), graphs(2), tiny, demand(*[900] * 31)]
    free = a_load(seconds=40, cpu=20.0, host_busy=40.0)
    busy = a_load(seconds=40, cpu=20.0, host_busy=160.0)

    assert "tiny-tasks" in slugs(a_run(*run, free))
    assert "tiny-tasks" not in slugs(a_run(*run, busy))


def test_tiny_tasks_of_a_short_run_are_nobodys_business() -> None:
    tiny = tasks("inc", 450, seconds=0.0005, every=0.01)

    run = a_run(workers(), graphs(2), tiny, demand(*[400] * 4), succeeded(at=6))
    assert slugs(run) == []


def test_one_task_that_all_others_wait_for_is_named() -> None:
    even = tasks("work", 39, seconds=0.5, threads=4)
    long = a_task("work-99", worker="tcp://w4", start=2, compute=30, nbytes=9_000)
    run = a_run(workers(4), graphs(2), even, long, demand(*[40] * 5, *[1] * 26))
    found = the("straggler", run)

    assert (found.subject.key, found.subject.worker) == ("work-99", "tcp://w4")
    assert "60 times as long" in found.title
    assert "9 KiB, 90 times as much" in found.cause.replace("8.8", "9")
    assert found.cost is not None
    assert found.cost.amount == pytest.approx(75, abs=6)
    assert "workers-idle" not in slugs(run)


def test_the_time_of_a_task_that_its_host_ended_at_a_limit_is_no_finding_of_its_own() -> (
    None
):
    even = tasks("work", 39, seconds=0.5, threads=4)
    long = a_task("work-99", worker="tcp://w4", start=2, compute=30)
    over = an_event("task-timed-out", "work-99", limit=3.0, setting="timeout_seconds")
    run = a_run(workers(4), graphs(2), even, long, over, demand(*[40] * 5, *[1] * 26))

    assert "straggler" not in slugs(run)


def test_threads_that_idled_beside_a_task_over_its_limit_are_no_finding() -> None:
    long = [
        a_task(f"fetch-{n}", worker=f"tcp://w{n + 1}", start=1, compute=60)
        for n in range(2)
    ]
    over = [
        an_event("task-timed-out", f"fetch-{n}", limit=3.0, setting="timeout_seconds")
        for n in range(2)
    ]
    run: list[Any] = [
        workers(8),
        graphs(1),
        long,
        demand(*[2] * 61),
        succeeded(at=62),
    ]

    assert "workers-idle" in slugs(a_run(*run))
    assert "workers-idle" not in slugs(a_run(*run, over))


def test_a_lone_task_that_its_host_ended_at_a_limit_is_no_straggler() -> None:
    parts = tasks("part", 10, seconds=1)
    merge = a_task("merge-0", worker="tcp://w1", start=7, compute=5)
    over = an_event("task-timed-out", "merge-0", limit=3.0, setting="timeout_seconds")
    wanted = demand(*[10] * 5, *[1] * 6)
    run = a_run(workers(), graphs(2), parts, merge, over, wanted, succeeded(at=13))

    assert "straggler" not in slugs(run)


def test_a_task_without_its_like_that_runs_alone_for_half_of_a_short_run_is_named() -> (
    None
):
    parts = tasks("part", 10, seconds=1)
    merge = a_task("merge-0", worker="tcp://w1", start=7, compute=5)
    wanted = demand(*[10] * 5, *[1] * 6)
    run = a_run(workers(), graphs(2), parts, merge, wanted, succeeded(at=13))
    found = the("straggler", run)

    assert found.subject.key == "merge-0"
    assert found.title == (
        "A task of 'merge' ran alone for 5.0 s of 10 s, while 1 of 2 threads had no task"
    )
    assert found.cost is not None
    assert found.cost.share == pytest.approx(0.25, abs=0.06)


@pytest.mark.parametrize(
    ("key", "may_be_compressed"),
    [("bag-file_to_blocks-sum-0", True), ("read_csv-0", True), ("merge-0", False)],
)
def test_a_lone_task_that_reads_text_may_read_a_file_that_is_one_piece(
    key: str, *, may_be_compressed: bool
) -> None:
    parts = tasks("part", 10, seconds=1)
    alone = a_task(key, worker="tcp://w1", start=7, compute=5)
    wanted = demand(*[10] * 5, *[1] * 6)
    run = a_run(workers(), graphs(2), parts, alone, wanted, succeeded(at=13))
    remedy = the("straggler", run).remedy

    assert ("compressed file" in remedy) is may_be_compressed


def test_what_is_left_over_when_tasks_are_divided_is_no_straggler() -> None:
    three = tasks("train", 3, seconds=5)
    run = a_run(
        workers(), graphs(2), three, demand(*[3] * 5, *[1] * 6), succeeded(at=13)
    )

    assert "straggler" not in slugs(run)


def test_a_last_step_that_takes_a_small_part_of_the_run_is_healthy() -> None:
    parts = tasks("part", 14, seconds=1)
    merge = a_task("merge-0", worker="tcp://w1", start=9, compute=3)
    run = a_run(
        workers(),
        graphs(2),
        parts,
        merge,
        demand(*[10] * 7, *[1] * 4),
        succeeded(at=13),
    )

    assert "straggler" not in slugs(run)


@pytest.mark.parametrize(
    ("cost", "share", "worth"),
    [
        (200.0, 0.21, True),
        (200.0, 0.19, False),
        (4.2, 0.25, True),
        (4.2, 0.21, False),
        (3.8, 0.95, False),
    ],
    ids=["long", "long, a small share", "short", "short, a small share", "a moment"],
)
def test_the_shorter_a_loss_is_the_larger_its_share_must_be(
    cost: float, share: float, *, worth: bool
) -> None:
    work = tasks("work", 40, seconds=1)
    case = Case(a_run(workers(), graphs(2), work, succeeded(at=23)))

    assert case.worth_reporting(cost, share, 0.2) is worth


def test_a_long_task_beside_which_others_work_delays_nobody() -> None:
    even = tasks("work", 90, seconds=1, threads=3)
    long = a_task("work-99", worker="tcp://w4", start=2, compute=30)

    run = a_run(workers(4), graphs(2), even, long, demand(*[40] * 31), succeeded(at=36))
    assert slugs(run) == []


def test_a_slow_host_is_named_rather_than_its_tasks() -> None:
    even = tasks("work", 60, seconds=0.5, threads=3)
    slow = [
        a_task(f"work-{900 + n}", worker="tcp://w4", start=2 + 8 * n, compute=8)
        for n in range(4)
    ]
    run = a_run(workers(4), graphs(2), even, slow, demand(*[40] * 10, *[1] * 23))
    found = the("straggler", run)

    assert "That worker took 16.0 times as long as others" in found.cause
    assert "Look at the host of worker 4" in found.remedy


def test_threads_without_tasks_are_counted() -> None:
    chain = [
        a_task(f"step-{n}", worker="tcp://w1", start=2 + n, compute=1)
        for n in range(30)
    ]
    found = the("workers-idle", a_run(workers(8), graphs(2), chain, demand(*[1] * 31)))

    assert found.title.startswith("On average 1.0 of 8 threads computed: 88%")
    assert found.cost is not None
    assert found.cost.amount == pytest.approx(210, abs=2)
    assert (
        "30 tasks of 'step', enough for 8 threads, but not at the same time"
        in found.remedy
    )
    assert "7 workers never computed anything" in found.cause


def test_tasks_that_are_wanted_and_of_which_nothing_is_known_leave_it_open_who_idled() -> (
    None
):
    # Cancelled while they ran: Python does not stop them, and nobody reports their end.
    known = [
        a_task("search-0", worker="tcp://w1", start=2, compute=0.2),
        a_task("search-9", worker="tcp://w1", start=31.8, compute=0.2),
    ]
    run = a_run(workers(2), graphs(2), known, demand(*[1] * 31))

    assert "workers-idle" not in slugs(run)


def test_a_driver_that_waits_for_workers_keeps_nobody_waiting() -> None:
    late = [a_worker(f"tcp://w{n}", pid=100 + n, at=200) for n in range(1, 5)]
    sums = [a_task(f"sum-{n}", start=205 + n, compute=4) for n in range(20)]
    run = a_run(late, graphs(205), sums, succeeded(at=230))

    assert "driver-bound" not in slugs(run)
    soon = a_run(workers(4), graphs(205), sums, succeeded(at=230))
    assert "between" not in the("driver-bound", soon).cause  # there is one graph


def slow_driver(**reported: float) -> RunTables:
    begun = [2.0 + 10 * n for n in range(5)]
    short = [a_task(f"sum-{n}", start=at, compute=1) for n, at in enumerate(begun)]
    watched = {"pid": 7, "seconds": 44.0, "cpu": 0.0, "delayed": 0.0, **reported}
    facts_of_sketch = an_event("driver-load", "driver", at=44, **watched)
    return a_run(workers(4), graphs(*begun), short, facts_of_sketch, succeeded(at=45))


def test_what_others_took_from_a_driver_is_not_its_own() -> None:
    found = the("driver-bound", slow_driver(cpu=9.0, delayed=4.0))
    assert found.title == "The cluster waited 36 s of 44 s for the driver"
    assert (
        "4.0 s for which it waited for a core that other processes used" in found.cause
    )

    assert "driver-bound" not in slugs(slow_driver(cpu=9.0, delayed=25.0))


@pytest.mark.parametrize(("host_busy", "found"), [(10.0, True), (28.0, False)])
def test_on_a_host_that_others_keep_busy_an_idle_driver_may_wait_for_cores(
    host_busy: float, *, found: bool
) -> None:
    long = [a_task(f"sum-{n}", start=2 + 9 * n, compute=3) for n in range(2)]
    facts = an_event(
        "driver-load", "driver", at=15, pid=7, seconds=14.0, cpu=0.1, delayed=0.5
    )
    load = a_load(seconds=14, cpu=6.0, host_busy=host_busy, cores=2)
    run = a_run(workers(1), graphs(2, 11), long, facts, load, succeeded(at=15))

    assert ("driver-bound" in slugs(run)) is found


def short_driver(*, cpu: float, computed: float = 0.5) -> RunTables:
    """Return fourteen seconds of which the workers idled twelve."""
    work = [
        a_task(
            f"sum-{n}",
            worker=f"tcp://w{n % 2 + 1}",
            start=2 + 6 * (n // 2),
            compute=computed,
        )
        for n in range(4)
    ]
    reported = an_event(
        "driver-load", "driver", at=15, pid=7, seconds=14.0, cpu=cpu, delayed=0.0
    )
    return a_run(workers(), graphs(2, 8), work, reported, succeeded(at=15))


def test_a_driver_that_computes_for_most_of_a_short_run_is_reported() -> None:
    found = the("driver-bound", short_driver(cpu=11.0))

    assert found.cost is not None
    assert found.cost.share is not None
    assert found.cost.share > 0.8


def test_a_driver_with_other_work_beside_a_moment_of_dask_is_healthy() -> None:
    assert "driver-bound" not in slugs(short_driver(cpu=2.0))
    assert "driver-bound" not in slugs(short_driver(cpu=11.0, computed=0.1))


def test_a_short_run_may_wait_for_its_driver() -> None:
    run = a_run(workers(), graphs(6), a_task(start=6, compute=1), succeeded(at=12))

    assert slugs(run) == []


def test_a_little_that_is_computed_again_is_nobodys_business() -> None:
    once = tasks("load", 40, seconds=1)
    again = [a_task(f"load-{n}", start=30 + n, compute=1) for n in range(4)]

    assert slugs(a_run(workers(), graphs(2), once, again)) == []


def python_in_threads(**reported: Any) -> RunTables:
    load = {"cpu": 41.0, "late_wakeups": 300, "host_busy": 44.0} | reported
    return a_run(
        workers(1, nthreads=4),
        graphs(2),
        [a_task(f"parse-{n}", start=2 + n // 4 * 4, compute=4) for n in range(40)],
        fine(
            ["execute", "parse", "thread-cpu", "seconds", 40.0],
            ["execute", "parse", "thread-noncpu", "seconds", 118.0],
        ),
        a_load(**load),
    )


def test_processes_win_no_more_than_there_are_cores() -> None:
    found = the("gil-bound", python_in_threads(cores=2))

    assert "1 m 58 s for the GIL" in found.title
    assert found.cost is not None
    assert found.cost.amount == pytest.approx(118 * 2 / 3, rel=0.05)


@pytest.mark.parametrize(
    "reported",
    [
        {"late_wakeups": 20},
        {"cpu": 150.0, "host_busy": 151.0},
        {"host_busy": 150.0},
    ],
    ids=["the GIL is free", "many cores are used", "others have the host"],
)
def test_waiting_that_is_not_for_the_gil_is_not_called_so(
    reported: dict[str, Any],
) -> None:
    assert "gil-bound" not in slugs(python_in_threads(**reported))


def test_where_all_cores_are_used_processes_would_win_nothing() -> None:
    load: dict[str, Any] = {
        "cpu": 38.0,
        "late_wakeups": 300,
        "host_busy": 78.0,
        "cores": 2,
    }
    run = a_run(
        workers(2, nthreads=4),
        graphs(2),
        [a_task(f"parse-{n}", start=2 + n // 8 * 4, compute=4) for n in range(80)],
        fine(
            ["execute", "parse", "thread-cpu", "seconds", 76.0],
            ["execute", "parse", "thread-noncpu", "seconds", 240.0],
        ),
        a_load(**load),
        a_load("tcp://w2", **load),
    )

    assert "gil-bound" not in slugs(run)
    assert "cpu-oversubscribed" in slugs(run)


def waiting(*, nthreads: int = 1, cpu: float = 0.5, **reported: Any) -> RunTables:
    load = {"cpu": 2.0, "host_busy": 6.0} | reported
    return a_run(
        workers(2, nthreads=nthreads),
        graphs(2),
        tasks("fetch", 80, seconds=1),
        fine(
            ["execute", "fetch", "thread-cpu", "seconds", cpu],
            ["execute", "fetch", "thread-noncpu", "seconds", 80 - cpu],
        ),
        a_load(**load),
        a_load("tcp://w2", **load),
    )


def test_tasks_that_wait_in_many_threads_are_healthy() -> None:
    assert "io-bound" not in slugs(waiting(nthreads=8))


def test_on_a_host_that_others_use_tasks_that_need_no_core_still_wait_outside() -> None:
    assert "io-bound" in slugs(waiting(host_busy=150.0))


def test_tasks_that_wait_for_programs_of_their_own_are_healthy() -> None:
    assert "io-bound" in slugs(waiting(children=0.5))  # it was a download, by `curl`
    assert "io-bound" not in slugs(waiting(children=36.0, host_busy=80.0))


@pytest.mark.parametrize(
    "reported",
    [{"cpu": 6.0}, {"late_wakeups": 200}],
    ids=["they need a core now and then", "threads wake late"],
)
def test_waiting_on_a_host_that_others_use_may_be_for_a_core(reported: Any) -> None:
    assert "io-bound" in slugs(waiting(cpu=reported.get("cpu", 0.5)))
    assert "io-bound" not in slugs(waiting(host_busy=150.0, **reported))


def crowded(*, cores: int, others: float = 0.0) -> RunTables:
    busy = cores * 40.0 * 0.95
    return a_run(
        workers(1, nthreads=12),
        graphs(2),
        [a_task(f"zip-{n}", start=2 + n // 12 * 4, compute=4) for n in range(120)],
        fine(
            ["execute", "zip", "thread-cpu", "seconds", 160.0],
            ["execute", "zip", "thread-noncpu", "seconds", 320.0],
        ),
        a_load(cpu=busy, host_busy=busy + others, cores=cores, late_wakeups=10),
    )


def test_three_threads_to_a_core_take_turns() -> None:
    found = the("cpu-oversubscribed", crowded(cores=4))

    assert (
        found.title
        == "12 threads shared 4 cores: tasks took 3.0 times as long as they computed"
    )
    assert "67% less memory" in found.remedy


def test_as_many_threads_as_cores_are_healthy() -> None:
    assert "cpu-oversubscribed" not in slugs(crowded(cores=8))


def test_a_crowd_of_others_is_not_ours() -> None:
    assert "cpu-oversubscribed" not in slugs(crowded(cores=4, others=80.0))


def test_garbage_collection_is_measured_against_what_was_computed() -> None:
    run = a_run(workers(1), tasks("parse", 40, seconds=1, threads=1), a_load(gc=12.0))
    found = the("gc-time", run)

    assert found.title == "Garbage collection took 12 s, 30% of the workers' CPU time"
    assert found.subject.prefix == "parse"
    assert slugs(a_run(workers(1), a_load(gc=2.0))) == []


def moved(mebibytes: int) -> RunTables:
    travelling: list[Piece] = []
    for n in range(20):
        _, row = a_task(f"use-{n}", worker=f"tcp://w{n % 2 + 1}", start=2 + n * 2)
        row = list(row)
        # It waits for two seconds for its inputs, and computes for half a second.
        row[6:11] = [row[5] + 2.5, 0.5, 2.0, 0.0, 0.0]
        travelling.append(("task", tuple(row)))
    return a_run(
        workers(2),
        graphs(2),
        travelling,
        demand(*[6] * 43),
        fine(["get-data", "memory-read", "bytes", mebibytes * MIB]),
    )


def test_waiting_without_data_is_not_the_network() -> None:
    assert "network-bound" not in slugs(moved(3))


def test_a_scheduler_at_its_limit_is_named() -> None:
    some = tasks("load", 800, seconds=0.03, every=0.1)
    run = a_run(workers(4), graphs(2), some, demand(*[700] * 41, cpu=99.0))
    found = the("scheduler-overloaded", run)

    assert "20 tasks a second" in found.cause
    assert found.cost is not None
    assert found.cost.amount == pytest.approx(136, abs=3)
    quiet = a_run(workers(4), graphs(2), some, demand(*[700] * 41, cpu=30.0))
    assert slugs(quiet) == []


def unresponsive(*seconds: float, others: float = 0.0) -> RunTables:
    lines = [
        a_log_line(
            f"Event loop was unresponsive in Worker for {each:.2f}s.  This is often "
            "caused by long-running GIL-holding functions.",
            at=20.0 + 10 * n,
            level=20,
        )
        for n, each in enumerate(seconds)
    ]
    sort = a_task("sort-1", start=10, compute=12)
    return a_run(workers(1), sort, lines, a_load(cpu=40.0, host_busy=40.0 + others))


def test_event_loops_on_a_host_without_free_cores_are_not_blamed() -> None:
    assert slugs(unresponsive(6.2, 4.0, others=110.0)) == []


def test_a_gil_that_was_held_is_reported_from_a_busy_host_by_who_was_late() -> None:
    def load(late: int, waited: float) -> Piece:
        return a_load(
            cpu=20, host_busy=150, wakeups=300, late_wakeups=late, late_seconds=waited
        )

    line = a_log_line(
        "Event loop was unresponsive in Worker for 9.00s.  This is often", at=20.0
    )
    task = a_task("pow-1", start=10, compute=12)

    held = a_run(workers(1), task, line, load(8, 9.2))
    assert the("event-loop-blocked", held).subject.key == "pow-1"
    starved = a_run(workers(1), task, line, load(150, 20.0))
    assert slugs(starved) == []


@pytest.mark.parametrize(("began", "found"), [(10.0, True), (7.0, False)])
def test_a_loop_that_is_blocked_for_exactly_one_task_was_blocked_by_it(
    began: float, *, found: bool
) -> None:
    """Its process got no core, but it was late at no other moment."""
    line = a_log_line(
        "Event loop was unresponsive in Worker for 9.00s.  This is often", at=19.05
    )
    load = a_load(
        cpu=1, host_busy=150, wakeups=3, late_wakeups=3, late_seconds=9.0, cores=2
    )
    run = a_run(workers(1), a_task("pow-1", start=began, compute=9), line, load)

    assert ("event-loop-blocked" in slugs(run)) is found


@pytest.mark.parametrize(
    ("starts", "loads"), [((10, 10), True), ((10, 20), False), ((20, 20), False)]
)
def test_workers_that_were_blocked_once_in_their_first_task_may_load_before(
    starts: tuple[int, int], *, loads: bool
) -> None:
    text = "Event loop was unresponsive in Worker for 9.00s.  This is often"
    run = a_run(
        workers(2),
        *[a_task(f"load-{n}", worker=f"tcp://w{n}", start=10, compute=9.0) for n in (1, 2)],
        *[a_task(f"next-{n}", worker=f"tcp://w{n}", start=20, compute=9.0) for n in (1, 2)],
        *[
            a_log_line(text, source=f"tcp://w{n}", pid=100 * n, at=start + 9.05)
            for n, start in zip((1, 2), starts, strict=True)
        ],
        a_load(cpu=20, host_busy=20),
    )  # fmt: skip
    found = the("event-loop-blocked", run)

    assert ("--preload" in found.remedy) is loads


def test_one_turn_of_three_seconds_in_a_minute_is_nobodys_business() -> None:
    assert slugs(unresponsive(3.2)) == []


def test_roles_of_one_process_complain_of_one_loop() -> None:
    text = "Event loop was unresponsive in {} for 7.00s.  This is often caused by"
    run = a_run(
        workers(1),
        a_load(),
        a_log_line(text.format("Nanny"), role="nanny", source="tcp://n1", at=20),
        a_log_line(
            text.format("Scheduler"), role="scheduler", source="scheduler", at=20.1
        ),
    )
    found = the("event-loop-blocked", run)

    assert found.title == "A scheduler's event loop was blocked for 7.0 s"

    assert "1 time for 3.0 s or more, and for 7.0 s in total" in found.cause


def test_requests_to_steal_are_counted_from_the_runs_beginning() -> None:
    run = a_run(
        workers(),
        graphs(2),
        tasks("use", 800, seconds=0.03, every=0.05),
        demand(*[50] * 21),
        an_event("scheduler-load", at=0, steal_requests=5_000),
        an_event("scheduler-load", at=40, steal_requests=10_000),
    )
    found = the("stealing-churn", run)

    assert found.title.startswith("5,000 attempts to move 800 tasks")
    assert "6.2 times for each of 800 tasks" in found.cause


def test_a_shuffle_that_began_again_is_reported_with_what_was_lost() -> None:
    shuffle = "2b9f37be"
    run = a_run(
        workers(),
        [
            a_task(f"('shuffle-transfer-{shuffle}', {n})", start=3 + n, compute=2)
            for n in (0, 1, 2, 0, 1)
        ],
        a_log_line(
            f"Shuffle {shuffle} restarted due to stimulus 'handle-worker-cleanup-17",
            role="scheduler", source="scheduler", level=30,
        ),
    )  # fmt: skip
    found = the("shuffle-restarted", run)

    assert found.title == "1 shuffle restarted because a worker left"
    assert "handle-worker-cleanup" not in found.cause
    assert "4.0 s of computing had to be repeated" in found.cause
    assert found.cost is not None
    assert found.cost.amount == pytest.approx(4)

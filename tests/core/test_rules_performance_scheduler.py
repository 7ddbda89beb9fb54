"""Who kept threads waiting: the scheduler, its plugins, its edges, or the tasks' size."""

from __future__ import annotations

import pytest
from dask_blackbox.run_tables import RunTables
from loads_from_rows import a_load, demand, fine, graphs, slugs, tasks, the, workers
from runs_from_rows import Piece, a_run, a_task, a_worker, an_event, succeeded


def waited_for(
    *more: Piece, seconds: float = 0.01, cpu: float = 99.0, turn: float = 0.02
) -> RunTables:
    """Return a run of 30 s in which a task came to each of four threads each 0.2 s."""
    some = tasks("load", 600, seconds=seconds, threads=4, every=0.2)
    wanted = demand(*[500] * 31, cpu=cpu, turn=turn)
    return a_run(workers(4), graphs(2), some, wanted, *more)


def test_a_scheduler_that_is_slow_with_tiny_tasks_is_the_cause_not_their_size() -> None:
    run = waited_for()

    assert "20 tasks a second" in the("scheduler-overloaded", run).cause
    assert "far more than the usual" in the("scheduler-overloaded", run).cause
    assert "tiny-tasks" not in slugs(run)


def test_a_scheduler_that_hands_out_tiny_tasks_as_fast_as_it_can_is_not_the_cause() -> (
    None
):
    tiny = tasks("inc", 12_000, seconds=0.0005, every=0.0025 * 2)
    run = a_run(workers(), graphs(2), tiny, demand(*[900] * 31, cpu=99.0))

    assert "tiny-tasks" in slugs(run)
    assert "scheduler-overloaded" not in slugs(run)


def test_a_scheduler_that_sleeps_in_its_loop_is_as_slow_as_one_that_computes() -> None:
    asleep = waited_for(cpu=5.0, turn=0.4)

    assert "took 400 ms" in the("scheduler-overloaded", asleep).evidence[0].text
    assert "scheduler-overloaded" not in slugs(waited_for(cpu=5.0))


def test_a_plugin_on_a_slow_scheduler_is_named() -> None:
    load = an_event("scheduler-load", at=20, plugins=["house.audit.Audit"])
    found = the("scheduler-overloaded", waited_for(load))

    assert "Third-party plugins on it: 'house.audit.Audit'" in found.cause
    assert found.remedy.startswith("Remove 'house.audit.Audit'")


def test_edges_that_a_slow_scheduler_has_to_look_at_are_counted() -> None:
    graph = an_event("graph-updated", "Client-1", at=2, tasks=600, edges=120_000)
    found = the("scheduler-overloaded", waited_for(graph))

    assert "120,000 dependencies" in found.cause
    assert "600 edges instead of 120,000" in found.remedy


@pytest.mark.parametrize(("late", "found"), [(0.5, True), (3.0, False)])
def test_tasks_that_move_to_workers_that_joined_late_are_moved_for_a_reason(
    late: float, *, found: bool
) -> None:
    run = a_run(
        a_worker("tcp://w1", pid=1, at=0.5),
        a_worker("tcp://w2", pid=2, at=late),
        graphs(2),
        tasks("use", 800, seconds=0.005, every=0.008),
        demand(*[50] * 5),
        an_event("scheduler-load", at=0, steal_requests=0),
        an_event("scheduler-load", at=6, steal_requests=750, stolen=740),
    )

    assert ("stealing-churn" in slugs(run)) is found


def test_tiny_tasks_with_very_many_inputs_are_reported_so() -> None:
    tiny = tasks("inc", 8_000, seconds=0.0005, every=0.01)
    graph = an_event("graph-updated", "Client-1", at=2, tasks=8_000, edges=800_000)
    found = the("tiny-tasks", a_run(workers(), graph, tiny, demand(*[900] * 41)))

    assert "800,000 dependencies, 100 each" in found.cause
    assert found.remedy.startswith("Join their common inputs")


@pytest.mark.parametrize(("number", "found"), [(2, True), (200, False)])
def test_small_graphs_that_come_together_wait_for_each_other(
    number: int, *, found: bool
) -> None:
    run = a_run(
        workers(4),
        graphs(*[2 + n / 100 for n in range(number)]),
        tasks("load", 400, seconds=0.05, threads=4, every=0.1),
        demand(*[300] * 11),
        an_event("scheduler-load", at=1, update_graph=0.5),
        an_event("scheduler-load", at=12, update_graph=12.5),
        succeeded(at=14),
    )

    assert ("scheduler-overloaded" in slugs(run)) is found


def while_it_received(took: float, tasks: int) -> list[Piece]:
    return [
        an_event("graph-updated", "Client-1", at=2, tasks=tasks, edges=0),
        an_event("scheduler-load", at=1, update_graph=0.0),
        an_event("scheduler-load", at=29, update_graph=took),
    ]


@pytest.mark.parametrize(
    ("took", "asked", "fewer"),
    [(20.0, 24_000, True), (2.0, 24_000, False), (20.0, 600, False)],
)
def test_a_scheduler_that_receives_graphs_of_many_tasks_is_busy_with_nothing_else(
    took: float, asked: int, *, fewer: bool
) -> None:
    run = waited_for(*while_it_received(took, asked), seconds=0.05)
    found = the("scheduler-overloaded", run)

    assert ("something else keeps it busy" not in found.cause) is fewer
    assert ("fuse or batch tasks" in found.remedy) is fewer


@pytest.mark.parametrize(("took", "size"), [(20.0, True), (2.0, False)])
def test_tiny_tasks_are_why_a_scheduler_is_busy_with_receiving_their_graphs(
    took: float, *, size: bool
) -> None:
    found = slugs(waited_for(*while_it_received(took, 24_000)))

    assert ("tiny-tasks" in found, "scheduler-overloaded" in found) == (size, not size)


def test_what_each_worker_does_once_is_no_straggler() -> None:
    even = tasks("work", 60, seconds=0.5, threads=4, since=10)
    first = [
        a_task(f"work-9{n}", worker=f"tcp://w{n + 1}", start=2, compute=[8, 8, 1, 1][n])
        for n in range(4)
    ]
    wanted = demand(*[2] * 8, *[40] * 9)
    run = a_run(workers(4), graphs(2), even, first, wanted)

    assert "straggler" not in slugs(run)
    one = a_run(workers(4), graphs(2), even, first[1:], wanted)
    assert "straggler" in slugs(one)


def locked(*, others: float) -> RunTables:
    """Return four threads of a worker that take turns, on a host of eight cores."""
    return a_run(
        workers(1, nthreads=4),
        graphs(2),
        [a_task(f"parse-{n}", start=2 + n // 4 * 4, compute=4) for n in range(40)],
        fine(
            ["execute", "parse", "thread-cpu", "seconds", 40.0],
            ["execute", "parse", "thread-noncpu", "seconds", 120.0],
        ),
        a_load(cpu=40, host_busy=40 + others, cores=8, late_wakeups=380),
    )


def test_the_gil_is_to_blame_where_a_core_was_free() -> None:
    half_taken = locked(others=0.5 * 8 * 40)

    assert the("gil-bound", half_taken).subject.prefix == "parse"
    assert the("gil-bound", half_taken).cost is not None
    assert "gil-bound" not in slugs(locked(others=0.8 * 8 * 40))


def multiplied(*, native: int, cpu: float) -> RunTables:
    """Return two threads on two cores, whose library has threads of its own."""
    return a_run(
        workers(2),
        graphs(2),
        tasks("dot", 20, seconds=4.0),
        fine(
            ["execute", "dot", "thread-cpu", "seconds", 20.0],
            ["execute", "dot", "thread-noncpu", "seconds", 60.0],
        ),
        a_load("tcp://w1", cpu=cpu, host_busy=76, cores=2, native_threads=native),
        a_load("tcp://w2", cpu=cpu, host_busy=76, cores=2, native_threads=native),
    )


@pytest.mark.parametrize(("native", "cpu"), [(1, 35.0), (4, 12.0)])
def test_native_threads_that_are_one_or_idle_are_not_to_blame(
    native: int, cpu: float
) -> None:
    assert "cpu-oversubscribed" not in slugs(multiplied(native=native, cpu=cpu))


def test_tasks_that_wait_behind_a_long_one_keep_the_others_idle() -> None:
    """Four are bound to the worker of the long one, and three workers can't take them."""
    even = tasks("apply", 24, seconds=0.2, threads=4)
    long = a_task("apply-99", worker="tcp://w4", start=3.5, compute=10)
    behind = [a_task(f"apply-8{n}", worker="tcp://w4", start=14 + n) for n in range(4)]
    wanted = demand(20, 10, *[5] * 12, 4, 3, 2, 1)
    found = the("straggler", a_run(workers(4), graphs(2), even, long, behind, wanted))

    assert found.subject.key == "apply-99"
    assert found.cost is not None
    assert found.cost.amount == pytest.approx(30, abs=3)


@pytest.mark.parametrize("paused", ["tcp://w4", "tcp://w1", "recorder"])
def test_a_worker_that_was_paused_explains_its_long_task(paused: str) -> None:
    even = tasks("apply", 24, seconds=0.2, threads=4)
    long = a_task("apply-99", worker="tcp://w4", start=3.5, compute=10)
    pause = an_event("process-paused", paused, at=12, pid=7, seconds=8.0)
    wanted = demand(20, 10, *[5] * 12)
    found = the("straggler", a_run(workers(4), graphs(2), even, long, wanted, pause))
    evidence = [each.text for each in found.evidence]

    says = "Worker tcp://w4 did not run for 8.0 s (SIGSTOP"
    assert (says in found.cause) == (paused == "tcp://w4")
    stopped = f"worker {paused} was stopped for 8.0 s"
    assert (stopped in evidence) == (paused == "tcp://w4")


@pytest.mark.parametrize(("seconds", "found"), [(6.0, True), (2.0, False)])
def test_a_short_wait_of_the_cluster_is_reported_if_it_is_much_of_the_run(
    seconds: float, *, found: bool
) -> None:
    even = tasks("work", 20, seconds=0.2, threads=2)
    long = a_task("work-99", worker="tcp://w2", start=4, compute=seconds)
    wanted = demand(*[20] * 3, *[1] * int(seconds + 2))

    run = a_run(workers(2), graphs(2), even, long, wanted)
    assert ("straggler" in slugs(run)) is found


def test_what_idles_between_graphs_waits_for_the_driver_not_for_tasks() -> None:
    """A computation of 0.6 s on one of two threads, and a pause of 1.4 s, ten times."""
    steps = [a_task(f"sum-{n}", start=2 + 2 * n, compute=0.6) for n in range(10)]
    moments = [2.0 + 2 * n for n in range(10)]
    run = a_run(workers(), graphs(*moments), steps, demand(*[1] * 22), succeeded(at=22))

    assert slugs(run) == ["driver-bound"]


def test_a_scheduler_that_reports_nothing_for_seconds_was_blocked() -> None:
    some = tasks("load", 240, seconds=0.2, threads=4, every=0.6)
    wanted = demand(*[300] * 41)
    gaps = [each for n, each in enumerate(wanted) if n < 7 or n % 10 == 0]

    assert slugs(a_run(workers(4), graphs(2), some, wanted)) == []
    run = a_run(workers(4), graphs(2), some, gaps)
    assert slugs(run) == ["scheduler-overloaded"]


@pytest.mark.parametrize(("host", "found"), [("node-1", True), ("node-9", False)])
def test_a_scheduler_on_the_host_is_none_of_the_others_there(
    host: str, *, found: bool
) -> None:
    reported = an_event("scheduler-info", f"tcp://{host}:8786", at=1, pid=9)
    busy = a_load(seconds=30, cpu=3.0, host_busy=30.0 + 3.0, cores=1)

    assert ("scheduler-overloaded" in slugs(waited_for(reported, busy))) is found


def test_the_waiting_of_a_neighbours_tasks_is_not_ours() -> None:
    neighbour = fine(["execute", "sleep", "thread-noncpu", "seconds", 60.0])
    load = a_load(cpu=1.0, host_busy=4.0)

    ours = tasks("sleep", 60, seconds=1.0)
    wanted = demand(*[2] * 31)
    assert slugs(a_run(workers(), graphs(2), ours, wanted, neighbour, load)) == [
        "io-bound"
    ]
    few = tasks("sleep", 2, seconds=1.0)
    assert slugs(a_run(workers(), graphs(2), few, demand(2), neighbour, load)) == []

"""Sums over workers are over those that existed at the same time."""

from __future__ import annotations

from dask_blackbox.analyse import Case, findings_in
from dask_blackbox.analyse.facts.worker_exit_sources import (
    limits_at_once,
    most_at_once,
    spilled_at_once,
    threads_of,
    worker_exits_of,
)
from dask_blackbox.analyse.numbers import numbers_of
from runs_from_rows import (
    MIB,
    Piece,
    a_departure,
    a_graph,
    a_run,
    a_sample,
    a_task,
    a_worker,
    an_event,
    succeeded,
)

GIB = 2**30


def five_clusters(*, at_once: bool) -> list[Piece]:
    """Return the workers of five clusters of one script, each with 10 of a host's 24 GiB."""
    pieces: list[Piece] = [a_graph()]
    for n in range(5):
        address, begin = f"tcp://w{n}", 1.0 if at_once else 1.0 + 10 * n
        pieces += [
            an_event("scheduler-info", f"tcp://s{n}", at=begin - 0.5),
            a_worker(address, at=begin, pid=100 + n, memory_limit=10 * GIB, nthreads=2),
            a_sample(address, at=begin + 5, memory=9 * GIB),
            a_task(f"inc-{n}", worker=address, start=begin + 1, compute=7.0),
            an_event(
                "process-load",
                address,
                at=begin + 9,
                seconds=8.0,
                cpu=7.0,
                cores=2,
                host_busy=7.5,
                host_memory=24 * GIB,
            ),
            *a_departure(address, at=begin + 9.5, closing="nanny-close", processing=[]),
        ]
    return pieces


def rules(pieces: list[Piece]) -> list[str]:
    return [finding.rule for finding in findings_in(a_run(pieces))]


def test_clusters_one_after_another_share_no_memory() -> None:
    assert "memory-limit-ignored" not in rules(five_clusters(at_once=False))
    assert "memory-limit-ignored" in rules(five_clusters(at_once=True))


def test_a_host_of_clusters_one_after_another_is_watched_in_turn() -> None:
    [host] = Case(a_run(five_clusters(at_once=False))).task_activity.hosts

    assert (host.threads, host.limits, host.seconds) == (2, 10 * GIB, 40.0)
    assert (host.cpu, host.busy) == (35.0, 37.5)
    assert len(host.limited) == 1


def test_a_host_of_clusters_at_once_is_watched_once() -> None:
    [host] = Case(a_run(five_clusters(at_once=True))).task_activity.hosts

    assert (host.threads, host.limits, host.seconds) == (10, 50 * GIB, 8.0)
    assert (host.cpu, host.busy) == (35.0, 7.5)


def restarted() -> list[Piece]:
    """Return two workers that `client.restart()` replaces at 10 s."""
    pieces: list[Piece] = []
    for n in (1, 2):
        old, new, nanny = f"tcp://w{n}", f"tcp://w{n}0", f"tcp://n{n}"
        pieces += [
            a_worker(old, at=1, pid=n, nanny=nanny, nthreads=3, name=str(n)),
            *a_departure(old, at=10, stimulus="client-restart-1", expected=True),
            a_worker(new, at=10, pid=10 * n, nanny=nanny, nthreads=3, name=str(n)),
        ]
    return pieces


def test_a_restart_doubles_no_threads() -> None:
    run = a_run(restarted())
    known = worker_exits_of(run)

    assert sum(map(threads_of, most_at_once(known, threads_of))) == 6
    assert len(limits_at_once(run)) == 2
    numbers = numbers_of(Case(run))
    assert (numbers["workers"], numbers["threads"], numbers["restarts"]) == (2, 6, 2)


def test_threads_of_a_closed_cluster_idle_no_longer() -> None:
    """Its workers' removals were not recorded: the scheduler closed first."""
    run = a_run(
        an_event("scheduler-info", "tcp://s1", at=0),
        a_worker("tcp://w1", at=1, nthreads=4),
        an_event("scheduler-closing", at=10, scheduler="tcp://s1"),
        an_event("scheduler-info", "tcp://s2", at=11),
        a_worker("tcp://w2", at=12, pid=200, nthreads=4),
        succeeded(at=22),
    )

    assert Case(run).loads.threads.highest == 4


def test_what_was_spilled_at_different_times_does_not_add_up() -> None:
    run = a_run(
        a_worker("tcp://w1"),
        a_worker("tcp://w2", pid=200),
        a_sample("tcp://w1", at=5, spilled=50 * MIB),
        a_sample("tcp://w2", at=5, spilled=20 * MIB),
        a_sample("tcp://w1", at=6, spilled=0),
        a_sample("tcp://w2", at=6, spilled=60 * MIB),
    )

    assert spilled_at_once(run) == 70 * MIB


def test_a_task_counts_once_on_each_cluster_however_often_it_is_executed() -> None:
    pieces = five_clusters(at_once=False)
    again = [a_task(f"inc-{n}", worker=f"tcp://w{n}", start=4 + 10 * n) for n in (1, 2)]
    elsewhere = [a_task("inc-1", worker="tcp://w3", start=34)]

    numbers = numbers_of(Case(a_run([*pieces, *again, *elsewhere])))

    assert (numbers["executions"], numbers["tasks"]) == (8, 6)

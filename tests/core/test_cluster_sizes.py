"""What a run would take with other numbers of workers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import dask.config
import pytest
from click.testing import CliRunner
from dask_blackbox.analyse.cluster_sizes import ClusterSizes, cluster_sizes_of
from dask_blackbox.cli import blackbox
from dask_blackbox.report.cluster_sizes import size_rows, size_summary
from dask_blackbox.testing import (
    a_run,
    a_task,
    a_worker_added,
    a_worker_removed,
    an_event,
)
from dask_blackbox.testing.facts import Fact
from stored_runs import Shelf

OTHER = "tcp://10.0.0.2:40001"


def graph(at: float, **roots: int) -> Fact:
    new = {prefix: [number, number] for prefix, number in roots.items()}
    return an_event("graph-updated", "Client-1", at=at, tasks=1, new=new)


def one_after_the_other(
    prefix: str, number: int, start: float, seconds: float = 1.0
) -> Iterator[Fact]:
    """Yield executions on the one thread of `WORKER`."""
    for n in range(number):
        key = f"{prefix}-{n}"
        begin = start + n * seconds
        yield a_task(key, start=begin, compute=seconds, last_input="")


def seconds_by_workers(sizes: ClusterSizes) -> dict[int, float]:
    assert sizes.problem == ""
    return {each.workers: round(each.seconds, 1) for each in sizes.sizes}


def test_independent_tasks_take_as_long_as_their_threads_are_many() -> None:
    run = a_run(
        a_worker_added(at=0.0, nthreads=1),
        graph(1.0, load=8),
        *one_after_the_other("load", 8, start=1.0),
        ended=10.0,
    )

    sizes = cluster_sizes_of(run)

    # One second before the first and one after the last are there with any number.
    assert seconds_by_workers(sizes) == {1: 10.0, 2: 6.0, 4: 4.0}
    assert sizes.model == pytest.approx(10.0)
    assert [each.thread_seconds for each in sizes.sizes] == pytest.approx([10, 12, 16])


def test_what_waits_for_inputs_gets_no_faster_than_its_longest_chain() -> None:
    chain = [
        a_task(
            f"step-{n}",
            start=1.0 + n,
            compute=1.0,
            last_input=f"step-{n - 1}" if n else "",
        )
        for n in range(6)
    ]
    run = a_run(
        a_worker_added(at=0.0, nthreads=1), graph(1.0, step=1), *chain, ended=7.0
    )

    assert seconds_by_workers(cluster_sizes_of(run)) == {1: 7.0, 2: 7.0, 4: 7.0}


def test_what_the_driver_sends_when_all_is_done_waits_for_that() -> None:
    run = a_run(
        a_worker_added(at=0.0, nthreads=1),
        graph(1.0, load=4),
        *one_after_the_other("load", 4, start=1.0),
        graph(8.0, store=4),  # three seconds after the last result
        *one_after_the_other("store", 4, start=8.0),
        ended=12.0,
    )

    # 1 s, the first four, 3 s of the driver, the last four.
    assert seconds_by_workers(cluster_sizes_of(run)) == {1: 12.0, 2: 8.0, 4: 6.0}


def test_graphs_that_are_sent_one_by_one_are_sent_at_their_pace() -> None:
    sent = [graph(1.0 + n * 0.01, **{f"p{n}": 1}) for n in range(4)]
    done = [
        a_task(f"p{n}-0", start=1.03 + n, compute=1.0, last_input="") for n in range(4)
    ]
    run = a_run(a_worker_added(at=0.0, nthreads=1), *sent, *done, ended=5.03)

    found = seconds_by_workers(cluster_sizes_of(run))

    assert found[1] == 5.0
    assert found[4] == pytest.approx(2.0, abs=0.15)


def test_what_follows_each_result_follows_it_with_more_workers_too() -> None:
    """A driver that sends one more whenever one is done, two at a time."""
    facts: list[Fact] = [graph(1.0, first=2)]
    facts += [a_task("first-0", start=1.0, compute=1.0, last_input="")]
    facts += [a_task("first-1", start=2.0, compute=1.0, last_input="")]
    for n in range(4):
        facts += [graph(2.01 + n, **{f"next{n}": 1})]
        facts += [a_task(f"next{n}-0", start=3.01 + n, compute=1.0, last_input="")]
    run = a_run(a_worker_added(at=0.0, nthreads=1), *facts, ended=7.01)

    found = seconds_by_workers(cluster_sizes_of(run))

    # Never more than two are there to be executed.
    assert found[4] == found[2] == pytest.approx(4.0, abs=0.2)


def test_half_the_workers_and_their_memory_are_looked_at() -> None:
    peaks = [
        an_event(
            "process-load", each, at=5.0, seconds=5.0, peak_memory=3 * 2**30, cores=4
        )
        for each in ("tcp://10.0.0.1:40001", OTHER)
    ]
    run = a_run(
        a_worker_added(at=0.0, nthreads=1, name="0"),
        a_worker_added(OTHER, at=0.0, nthreads=1, pid=101, name="1"),
        *peaks,
        graph(0.0, load=8),
        *one_after_the_other("load", 4, start=0.0),
        *(
            a_task(
                f"load-{n + 4}", worker=OTHER, start=float(n), compute=1, last_input=""
            )
            for n in range(4)
        ),
        ended=4.0,
    )

    half, own, twice, four = cluster_sizes_of(run).sizes

    assert half.workers == 1
    assert half.seconds == pytest.approx(8.0)
    assert (half.short_of_memory, own.short_of_memory) == (True, False)
    # Both workers are on 10.0.0.1, which has four cores.
    assert [each.more_than_cores for each in (own, twice, four)] == [False, False, True]


@pytest.mark.parametrize(
    ("facts", "state", "problem"),
    [
        ([a_worker_added()], "succeeded", "no task was executed"),
        ([a_worker_added(), a_task()], "failed", "the run did not succeed"),
        (
            [
                a_worker_added(),
                a_task(start=1.0, compute=20.0),
                a_worker_added(OTHER, pid=7),
                a_worker_removed(OTHER, at=9.0),
            ],
            "succeeded",
            "workers left before the last task had ended",
        ),
        (
            [
                a_worker_added(nthreads=2),
                graph(1.0, load=2),
                a_task("load-0", start=1.0, compute=1.0, last_input=""),
                a_task("load-1", start=40.0, compute=1.0, last_input="", thread=2),
            ],
            "succeeded",
            "the model gives 2.0 s until the last task ended, and not 41.0 s",
        ),
    ],
)
def test_nothing_is_predicted_where_the_model_cannot_hold(
    facts: list[Fact], state: str, problem: str
) -> None:
    sizes = cluster_sizes_of(a_run(*facts, state=state))

    assert (sizes.problem, sizes.sizes) == (problem, ())
    assert problem in size_summary(sizes)
    assert size_rows(sizes, "nightly") == []


@pytest.fixture
def night(shelf: Shelf) -> Shelf:
    """Return a store with one run of eight tasks on one thread."""
    shelf.record(
        "nightly",
        "run-1",
        a_worker_added(at=0.0, nthreads=1),
        graph(1.0, load=8),
        *one_after_the_other("load", 8, start=1.0),
    )
    return shelf


def test_the_command_prints_sizes_with_costs_where_a_price_is_set(night: Shelf) -> None:
    asked = ["sizes", "--store", night.url]
    plain = CliRunner().invoke(blackbox, asked, catch_exceptions=False)
    with dask.config.set({"blackbox.price.core-hour": 3600.0}):
        priced = CliRunner().invoke(blackbox, asked, catch_exceptions=False)
    as_json = CliRunner().invoke(blackbox, [*asked, "--json"], catch_exceptions=False)

    assert "as recorded" in plain.output
    assert "USD" not in plain.output
    assert "112.00 USD" in priced.output  # two threads for 56 seconds
    by_workers = {each["workers"]: each for each in json.loads(as_json.output)["sizes"]}
    # It goes on for 51 seconds after its last task.
    assert by_workers[2]["seconds"] == pytest.approx(56.0)

"""What a host's page shows of a run beside its card."""

from __future__ import annotations

from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from dask_blackbox.card_data import Overview
from dask_blackbox.report import overview_of
from runs_from_rows import (
    Piece,
    a_death,
    a_run,
    a_task,
    a_worker,
    an_event,
    succeeded,
)


def overview(*pieces: Piece) -> Overview:
    run = a_run(a_worker(), *pieces, succeeded())
    return overview_of(run, card_of(run, findings_in(run)))


def test_the_five_slowest_and_the_large_results_are_named_in_order() -> None:
    found = overview(
        *(a_task(f"load-{i}", compute=float(i), nbytes=i * 300_000) for i in range(8))
    )

    assert [each.key for each in found.slowest] == [
        f"load-{i}" for i in (7, 6, 5, 4, 3)
    ]
    assert found.slowest[0].seconds == 7.0
    assert [each.key for each in found.largest] == [f"load-{i}" for i in (7, 6, 5, 4)]
    assert found.picture.startswith(b"\x89PNG")


def test_a_result_that_its_host_wraps_has_its_own_size() -> None:
    measured = an_event("result-size", "load-1", nbytes=3_000_000)

    found = overview(
        a_task("load-1", nbytes=400), a_task("load-2", nbytes=400), measured
    )

    assert [(each.key, each.nbytes) for each in found.largest] == [
        ("load-1", 3_000_000)
    ]


def test_a_task_whose_result_came_from_a_cache_is_not_among_the_slowest() -> None:
    found = overview(
        a_task("load-1", compute=3.0),
        a_task("load-2", compute=1.0),
        an_event("result-cached", "load-1"),
    )

    assert [each.key for each in found.slowest] == ["load-2"]


def test_a_task_that_its_host_did_not_run_is_not_among_the_slowest() -> None:
    found = overview(
        a_task("load-1", compute=1.0),
        a_task("total-1", compute=2.0),
        an_event("task-not-run", "total-1"),
    )

    assert [each.key for each in found.slowest] == ["load-1"]


def test_a_killed_task_took_as_long_as_it_ran_until_its_worker_died() -> None:
    found = overview(
        a_task("load-1", compute=2.0), *a_death(exit_code=-15, executing=["explode-1"])
    )

    assert {each.key for each in found.slowest} == {"load-1", "explode-1"}
    assert all(each.seconds > 0 for each in found.slowest)


def test_a_run_without_tasks_has_no_overview() -> None:
    assert overview() == Overview()

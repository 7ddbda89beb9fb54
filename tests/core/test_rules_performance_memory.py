"""Where the memory went: findings of runs made of rows, and what they stay silent on."""

from __future__ import annotations

from typing import Any

import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.known_bugs import KNOWN_BUGS, version
from dask_blackbox.finding import Finding
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    LIMIT,
    MIB,
    START,
    Piece,
    a_death,
    a_log_line,
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
)

GIB = 2**30


def a_sample(
    memory: int,
    *,
    at: float,
    source: str = "tcp://w1",
    managed: int = 0,
    executing: int = 1,
    spilled: int = 0,
) -> Piece:
    """Return a worker's sample, memory in MiB."""
    return "metric", (
        START + at, source, 50.0, memory * MIB, managed * MIB, spilled * MIB, 10, 0.0, 0.0, 0.0, 0.0,
        0.02, executing, 0, 1, "running",
    )  # fmt: skip


def the(slug: str, run: RunTables) -> Finding:
    found = [each for each in findings_in(run) if each.rule == slug]
    assert found, [each.title for each in findings_in(run)]
    return found[0]


def slugs(run: RunTables) -> list[str]:
    return [each.rule for each in findings_in(run)]


def a_life(*memory: int, managed: int = 0, tasks: int = 60) -> RunTables:
    """Return a run of a minute in which a worker had so many MiB, one after the other."""
    step = 60 / (len(memory) * 4)
    samples = [
        a_sample(each, at=1 + (n * 4 + m) * step, managed=managed)
        for n, each in enumerate(memory)
        for m in range(4)
    ]
    each = [a_task(f"score-{n}", start=1 + n, compute=0.9) for n in range(tasks)]
    return a_run(a_worker(memory_limit=GIB), samples, each)


def test_a_task_that_fills_a_worker_alone_is_blamed_and_not_the_others() -> None:
    many = [a_task(f"loop-{n}", start=2 + n, compute=1) for n in range(20)]
    one = a_task("fill-1", start=30, compute=4)
    run = a_run(a_worker(), many, one, a_sample(100, at=3), a_sample(900, at=32))

    assert slugs(run) == ["memory-near-limit"]
    more = [a_task(f"fill-{n}", start=40 + n, compute=1) for n in range(4)]
    run = a_run(a_worker(), many, one, more, a_sample(100, at=3), a_sample(900, at=32))
    assert the("chunks-too-large", run).subject.prefix == "fill"


def test_what_a_worker_held_as_it_died_is_not_put_down_to_tasks_that_ended() -> None:
    many = [a_task(f"fill-{n}", start=28 + n / 9, compute=0.1) for n in range(40)]
    seen = (a_sample(100, at=3), a_sample(900, at=32))
    dead = a_death(exit_code=-15, executing=["join-1"], at=33)

    assert "chunks-too-large" in slugs(a_run(a_worker(), many, *seen))
    assert "chunks-too-large" not in slugs(a_run(a_worker(), many, *seen, *dead))


def test_a_peak_between_two_samples_is_the_workers_own_word() -> None:
    own = an_event(
        "process-load", "tcp://w1", at=9, seconds=10, peak_memory=int(LIMIT * 0.93)
    )
    run = a_run(a_worker(), a_sample(100, at=3), own)

    assert (
        the("memory-near-limit", run).title == "Memory reached 93% of a worker's limit"
    )


def test_memory_that_only_grows_is_a_leak_with_a_rate() -> None:
    found = the("memory-leak", a_life(120, 180, 240, 300, 360, 420))

    assert found.subject.worker == "tcp://w1"
    assert found.subject.prefix == "score"
    assert "grew from 180 MiB to 420 MiB" in found.cause
    assert "6 MiB with each of 60 tasks" in found.cause
    assert "reaches its limit of 1 GiB after 1 m 28 s" in found.cause
    assert found.cost is not None
    assert (found.cost.amount, found.cost.unit) == (240 * MIB, "bytes")


@pytest.mark.parametrize(
    "memory",
    [
        (120, 300, 310, 305, 300, 312),
        (120, 420, 180, 430, 190, 420),
        (120, 180, 240, 300, 360, 200),
        (120, 125, 130, 135, 140, 145),
    ],
    ids=["a level", "up and down", "given back", "a little"],
)
def test_memory_that_comes_and_goes_is_no_leak(memory: tuple[int, ...]) -> None:
    assert slugs(a_life(*memory)) == []


def test_memory_of_results_is_no_leak() -> None:
    samples = [a_sample(120 + 60 * n, at=1 + 5 * n, managed=60 * n) for n in range(12)]
    each = [a_task(f"load-{n}", start=1 + n, compute=0.9) for n in range(60)]

    assert "memory-leak" not in slugs(a_run(a_worker(memory_limit=GIB), samples, each))


def large(
    piece: int, *, peak: int, nthreads: int = 2, more: Piece | None = None
) -> RunTables:
    return a_run(
        a_worker(nthreads=nthreads, memory_limit=GIB),
        [
            a_task(f"read-{n}", start=2 + n, compute=0.9, nbytes=piece * MIB)
            for n in range(50)
        ],
        a_sample(120, at=1, executing=0),
        a_sample(peak, at=20, managed=peak - 150),
        *([] if more is None else [more]),
    )


def test_what_a_worker_spilled_counts_where_it_never_came_near_its_limit() -> None:
    spilled = a_sample(600, at=22, managed=450, spilled=400)
    found = the("chunks-too-large", large(340, peak=600, nthreads=1, more=spilled))

    assert found.title.endswith("340 MiB, 33% of the memory per thread")
    assert "it reached 59% of its limit and spilled 400 MiB" in found.cause


def test_large_pieces_in_workers_with_room_are_healthy() -> None:
    assert slugs(large(256, peak=500)) == []


def test_small_pieces_in_a_full_worker_are_not_too_large() -> None:
    assert "chunks-too-large" not in slugs(large(20, peak=850))


def ahead(*, first_reduced: float, later: bool = False) -> RunTables:
    """Return that 40 blocks of 10 MiB are made in 40 s, and reduced from some moment on."""
    graph = [an_event("graph-updated", "Client-1", at=1, tasks=80)]
    if later:
        graph.append(an_event("graph-updated", "Client-1", at=41.5, tasks=40))
    return a_run(
        a_worker(),
        graph,
        [
            a_task(f"load-{n}", start=1 + n, compute=1, nbytes=10 * MIB)
            for n in range(40)
        ],
        [
            a_task(f"sum-{n}", start=first_reduced + n * 0.4, compute=0.2)
            for n in range(40)
        ],
        an_event(
            "scheduler-info",
            config={"distributed": {"scheduler": {"worker-saturation": "inf"}}},
        ),
    )


def test_what_is_made_before_any_of_it_is_reduced_is_a_pile() -> None:
    found = the("overproduction", ahead(first_reduced=41))

    assert found.title == "'load' ran ahead: 400 MiB waited in memory"
    assert "worker-saturation` is inf" in found.remedy
    assert found.subject.prefix == "load"


def test_what_is_reduced_as_it_is_made_is_no_pile() -> None:
    assert slugs(ahead(first_reduced=3)) == []


def test_what_was_asked_to_stay_is_no_pile() -> None:
    assert slugs(ahead(first_reduced=42, later=True)) == []


def a_host(*, workers: int, limit: float, memory: float, used: int = 100) -> RunTables:
    addresses = [f"tcp://w{n}" for n in range(workers)]
    reported = {
        "cpu": 5.0,
        "gc": 0,
        "host_busy": 9.0,
        "wakeups": 90,
        "late_wakeups": 0,
        "cores": 8,
    }
    return a_run(
        [
            a_worker(each, pid=n, memory_limit=int(limit * GIB))
            for n, each in enumerate(addresses)
        ],
        [
            an_event(
                "process-load",
                each,
                seconds=10.0,
                host_memory=int(memory * GIB),
                **reported,
            )
            for each in addresses
        ],
        [a_sample(used, at=5, source=each) for each in addresses],
    )


def test_limits_that_a_host_cannot_keep_are_added_up() -> None:
    overbooked = a_host(workers=4, limit=16, memory=16, used=400)
    found = the("memory-limit-ignored", overbooked)

    assert found.title == (
        "The memory limits of the workers on a host add up to 64 GiB; the host has 16 GiB"
    )
    assert "at most 3.6 GiB" in found.remedy
    assert found.cost is not None
    assert found.cost.amount == 48 * GIB


def test_limits_that_share_the_host_are_healthy() -> None:
    assert slugs(a_host(workers=4, limit=4, memory=16)) == []


def test_one_worker_with_all_of_its_host_is_healthy() -> None:
    assert slugs(a_host(workers=1, limit=16, memory=16)) == []


def test_too_high_limits_that_nobody_came_near_are_healthy() -> None:
    assert slugs(a_host(workers=4, limit=6, memory=16)) == []


def test_workers_that_may_have_all_and_use_next_to_nothing_are_healthy() -> None:
    assert slugs(a_host(workers=2, limit=16, memory=16, used=60)) == []


def test_dasks_own_word_of_an_ignored_limit_is_enough() -> None:
    text = "Ignoring provided memory limit 100TB due to system memory limit of 23 GiB"
    found = the("memory-limit-ignored", a_run(a_log_line(text, level=30)))

    assert text in found.cause


def a_warning(mebibytes: float) -> Piece:
    return an_event(
        "driver-warning", "driver", filename="/jobs/nightly.py", lineno=12,
        message=f"Sending large graph of size {mebibytes:.2f} MiB.\nThis may cause",
    )  # fmt: skip


def warned(*mebibytes: float) -> RunTables:
    return a_run([a_warning(each) for each in mebibytes])


@pytest.mark.parametrize(("size", "severity"), [(15.26, "notice"), (300, "warning")])
def test_data_inside_a_graph_is_reported_with_its_line(
    size: float, severity: Any
) -> None:
    found = the("large-graph", warned(size, 12))

    assert found.severity == severity
    assert "/jobs/nightly.py:12" in found.cause
    assert found.cost is not None
    assert found.cost.amount == pytest.approx((size + 12) * MIB)


def test_a_graph_of_very_many_tasks_holds_no_data() -> None:
    graph = an_event("graph-updated", "Client-1", at=2, tasks=40_000)
    found = the("large-graph", a_run(a_warning(25), graph))

    assert "it has 40,000 tasks of about 655 bytes each" in found.cause
    assert "chunks or partitions larger" in found.remedy


def of_version(distributed: str, message: str) -> RunTables:
    return a_run(
        an_event("scheduler-info", dask=distributed, distributed=distributed),
        a_log_line(message, role="scheduler", source="scheduler"),
    )


STOLEN = (
    "in move_task_confirm\n    victim.remove_from_processing(ts)\n"
    "KeyError: <TaskState ('rechunk', 0) released>"
)


def test_a_known_bug_needs_its_version_and_its_mark() -> None:
    found = the("known-bug", of_version("2025.3.0", STOLEN))

    assert "distributed 2025.3.0" in found.title
    assert "https://github.com/dask/distributed/issues/8787" in found.cause
    assert "work-stealing: false" in found.remedy
    assert slugs(of_version("2025.3.0", "all is well")) == []
    assert slugs(of_version("2024.2.0", STOLEN)) == []


def test_a_known_bug_is_found_in_the_drivers_exception() -> None:
    message = (
        "SchedulerState._transition_processing_erred() missing 1 required positional "
        "argument: 'worker'"
    )
    run = a_run(
        an_event("scheduler-info", distributed="2025.1.0"),
        failed_with(an_exception("TypeError", message)),
    )

    assert "the computation hangs" in the("known-bug", run).cause


@pytest.mark.parametrize("bug", KNOWN_BUGS, ids=lambda bug: bug.name)
def test_a_known_bug_says_where_it_is_reported(bug: Any) -> None:
    assert bug.url.startswith("https://github.com/")
    assert bug.means.endswith(".")
    assert bug.fixed or bug.instead.endswith(".")


def test_versions_compare_as_numbers() -> None:
    assert version("2025.10.0") > version("2025.9.1+12.gabc")
    assert not version("unknown")


def test_the_costliest_of_equal_findings_comes_first() -> None:
    run = a_run(a_worker(), a_sample(370, at=5), warned_rows())

    assert slugs(run) == ["memory-near-limit", "large-graph"]


def warned_rows() -> Piece:
    return an_event(
        "driver-warning", "driver", message="Sending large graph of size 200.00 MiB.\n"
    )

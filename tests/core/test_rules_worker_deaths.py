"""Of what did the workers die?  Rules on `KilledWorker` and all that looks like it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import pytest
from dask_blackbox.analyse import Case, exit_causes, findings_in, verdict_in, verdict_of
from dask_blackbox.analyse.causes import chain_of
from dask_blackbox.analyse.exit_causes import DIED
from dask_blackbox.analyse.facts.units import UnitEnding
from dask_blackbox.analyse.rules import RULES
from dask_blackbox.finding import Finding
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    LIMIT,
    MIB,
    START,
    Piece,
    a_death,
    a_departure,
    a_graph,
    a_log_line,
    a_run,
    a_sample,
    a_task,
    a_worker,
    aborted,
    an_event,
    an_exception,
    failed_with,
    killed_worker,
    raised_in,
    succeeded,
    the_verdict,
    the_verdict_on,
)


def rules(run: RunTables) -> list[str]:
    return [finding.rule for finding in findings_in(run)]


def killed_by(
    exit_code: int | None, key: str = "boom-1", **more: object
) -> list[Piece]:
    """Return a worker that died at `key`, and the run that failed of it."""
    return [
        a_worker(),
        a_graph(),
        *a_death(exit_code=exit_code, executing=[key], **more),  # type: ignore[arg-type]
        *raised_in(key, killed_worker(key)),
    ]


@pytest.mark.parametrize(
    ("exit_code", "rule", "text"),
    [
        (-11, "worker-segfault", "SIGSEGV"),
        (-7, "worker-segfault", "SIGBUS"),
        (-4, "worker-segfault", "SIGILL"),
        (-6, "worker-abort", "SIGABRT"),
        (-9, "worker-signalled", "SIGKILL"),
        (-15, "worker-signalled", "SIGTERM"),
        (3, "worker-exit", "code 3"),
        (0, "worker-exit", "code 0"),
        (255, "worker-exit", "code 255"),
    ],
)
def test_how_a_process_ended_names_the_cause(
    exit_code: int, rule: str, text: str
) -> None:
    found = the_verdict(a_run(*killed_by(exit_code)))

    assert (found.rule, found.confidence) == (rule, "high")
    assert text in found.title
    assert "'boom'" in found.title
    assert found.subject.key == "boom-1"
    assert found.subject.worker == "tcp://w1"


def test_a_worker_that_could_not_spill_is_not_called_too_small() -> None:
    line = (
        "Spill to disk failed; keeping data in memory\n"
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/w1/storage/x'"
    )
    over = an_event(
        "worker-restarted-for-memory", "tcp://w1", at=9.8, pid=100, rss=390 * MIB
    )
    found = the_verdict(a_run(a_log_line(line, at=8.0), over, killed_by(-15, "hog-1")))

    assert found.rule == "worker-memory-limit"
    assert "after spilling had failed (FileNotFoundError)" in found.title
    assert "Find what removes the workers' local directory" in found.remedy
    assert found.retry_advice == "environment"


@pytest.mark.parametrize(
    ("falls", "retained"), [(0, True), (250, False)], ids=["grows", "falls"]
)
def test_memory_that_only_grows_over_many_short_tasks_is_retained(
    falls: int, *, retained: bool
) -> None:
    tasks = [
        a_task(f"hog-{n}", start=7 + n / 10, compute=0.1, nbytes=8) for n in range(20)
    ]
    memory = [
        (7 + n / 10, (60 + 16 * n - falls * (n % 5 == 4 and n > 10)) * MIB)
        for n in range(21)
    ]
    over = an_event(
        "worker-restarted-for-memory", "tcp://w1", at=9.2, pid=100, rss=390 * MIB
    )
    found = the_verdict(
        a_run(tasks, over, killed_by(-15, "hog-20", at=9.3, memory=memory))
    )

    assert found.rule == "worker-memory-limit"
    assert ("memory over the 20 tasks" in found.cause) == retained


@pytest.mark.parametrize(
    ("falls", "retained"), [(0, True), (60, False)], ids=["grows", "falls"]
)
def test_memory_that_never_falls_while_tasks_end_is_retained_by_several_threads(
    falls: int, *, retained: bool
) -> None:
    tasks = [
        a_task(f"snap-{n}", start=1 + n // 2, compute=0.9, nbytes=8) for n in range(16)
    ]
    memory = [
        (1 + n / 4, (100 + 8 * n - falls * (n % 4 == 3)) * MIB) for n in range(32)
    ]
    run = a_run(
        a_worker(nthreads=2),
        tasks,
        an_event(
            "worker-restarted-for-memory", "tcp://w1", at=9.8, pid=100, rss=390 * MIB
        ),
        *a_death(exit_code=-15, executing=["snap-16", "snap-17"], memory=memory),
        *raised_in("snap-16", killed_worker("snap-16")),
    )
    found = the_verdict(run)

    assert found.rule == "worker-memory-limit"
    assert ("because earlier tasks had kept 248 MiB or more" in found.title) == retained
    assert ("no result accounts for it" in found.cause) == retained


@pytest.mark.parametrize(
    ("before", "known"), [(350, True), (200, False)], ids=["most", "half"]
)
def test_memory_that_a_worker_used_before_its_first_task_is_not_the_tasks(
    before: int, *, known: bool
) -> None:
    preload = "2026-11-27 09:18:58,0 - distributed.preloading - INFO - Run preload setup: maps.py"
    line = "2026-11-27 09:18:58,6 - distributed.preload.maps - WARNING - 24 maps loaded"
    run = a_run(
        a_log_line(preload, at=0.3, role="driver"),
        a_log_line(line, at=0.4, role="driver"),
        an_event(
            "worker-restarted-for-memory", "tcp://w1", at=9.8, pid=100, rss=390 * MIB
        ),
        killed_by(-15, "hog-1", memory=[(8.5, before * MIB), (9.9, 390 * MIB)]),
    )
    found = the_verdict(run)

    assert found.rule == "worker-memory-limit"
    assert (
        "used 350 MiB of its 400 MiB memory limit before its first task" in found.title
    ) == known
    assert (
        "preload maps.py, which had last printed “24 maps loaded”" in found.cause
    ) == known
    assert ("Smaller pieces do not help" in found.remedy) == known


def test_the_share_of_the_limit_is_that_which_the_nanny_logged() -> None:
    line = "Worker tcp://w1 (pid=100) exceeded 90% memory budget. Restarting..."
    run = a_run(
        a_log_line(line, at=9.9, role="nanny", source="tcp://n1"), killed_by(-15)
    )

    assert "over 90 % of its memory limit" in the_verdict(run).cause


def test_a_budget_line_about_another_process_proves_nothing() -> None:
    line = "Worker tcp://w9 (pid=999) exceeded 95% memory budget. Restarting..."
    run = a_run(
        a_log_line(line, at=9.9, role="nanny", source="tcp://n1"), killed_by(-15)
    )

    assert the_verdict(run).rule == "worker-signalled"


def test_a_sigterm_at_the_limit_without_a_witness_is_not_certain() -> None:
    found = the_verdict(a_run(*killed_by(-15, memory=[(9, 385 * MIB)])))

    assert (found.rule, found.confidence) == ("worker-memory-limit", "medium")


@pytest.mark.parametrize(
    ("prefix", "do", "pieces"),
    [
        ("decomposablegroupbyaggregation-tree", "`split_out=8`", False),
        ("unique-agg", "`split_out=8`", False),
        ("read_parquet", "row_group_size=", False),
        ("read-parquet", "row_group_size=", False),
        (
            "repartitiontofewer",
            "`compute()` of a frame joins all its partitions",
            False,
        ),
        ("rechunk-merge", "`array.chunk-size`", False),
        ("repartition", "make the pieces smaller", True),
        ("sum-tree", "make the pieces smaller", True),
        ("read_csv", "make the pieces smaller", True),
    ],
)
def test_what_makes_a_piece_smaller_depends_on_what_makes_the_piece(
    prefix: str, do: str, *, pieces: bool
) -> None:
    key = f"('{prefix}-2fd2ca8e365dc3909530f0b97345d4d1', 0)"
    run = a_run(
        a_worker(),
        an_event("worker-restarted-for-memory", "tcp://w1", at=9.8, pid=100, rss=1),
        *a_death(
            exit_code=-15, executing=[key], memory=[(2, 100 * MIB), (9, 390 * MIB)]
        ),
        failed_with(killed_worker(key)),
    )
    found = the_verdict(run)

    assert found.rule == "worker-memory-limit"
    assert do in found.remedy
    assert ("make the pieces smaller" in found.remedy) == pieces


def test_more_threads_make_the_remedy_offer_fewer() -> None:
    run = a_run(
        a_worker(nthreads=4),
        an_event("worker-restarted-for-memory", "tcp://w1", at=9.8, pid=100, rss=1),
        *a_death(
            exit_code=-15,
            executing=["hog-1", "hog-2"],
            memory=[(2, 100 * MIB), (9, 390 * MIB)],
        ),
        *raised_in("hog-1", killed_worker("hog-1")),
    )

    found = the_verdict(run)
    remedy = found.remedy

    assert "2 tasks ran at once and shared that memory" in found.cause
    assert "`threads_per_worker=1` a task may use 300 MiB rather than 75 MiB" in remedy
    assert "2 tasks shared 400 MiB" in remedy


@pytest.mark.parametrize(
    "megabytes",
    [[200 + n for n in range(10)], [64, 64, 64, 90, 108, 120, 136, 141, 150, 153]],
    ids=["it stood", "it imported a library"],
)
def test_a_sigkill_without_a_climb_is_somebodys(megabytes: list[int]) -> None:
    level = [(5 + n / 2, mib * 2**20) for n, mib in enumerate(megabytes)]

    assert the_verdict(a_run(*killed_by(-9, memory=level))).rule == "worker-signalled"


def test_sys_exit_is_found_in_the_last_lines_of_the_worker() -> None:
    line = (
        "Exception in callback\nTraceback (most recent call last):\n"
        '  File "/v/lib/python3.11/site-packages/distributed/worker.py", line 2, in f\n'
        '  File "/jobs/nightly.py", line 31, in load\n    sys.exit(0)\n'
        "SystemExit: 0"
    )
    found = the_verdict(a_run(*killed_by(0, lines=[line])))

    assert found.rule == "worker-exit"
    assert "`sys.exit` was called at /jobs/nightly.py:31 in load" in found.cause


@pytest.mark.parametrize(("code", "mapped"), [(-7, True), (-11, False)])
def test_a_bus_error_is_one_of_a_mapped_file(*, code: int, mapped: bool) -> None:
    found = the_verdict(a_run(*killed_by(code)))

    assert found.rule == "worker-segfault"
    assert ("rewritten in place while it was mapped" in found.remedy) == mapped
    assert ("compiled libraries" in found.remedy) != mapped


def test_a_frozen_worker_is_not_called_signalled() -> None:
    given_up = an_event("worker-ttl", "tcp://w1", at=5.5, ttl=300)
    found = the_verdict(a_run(given_up, killed_by(-9)))

    assert found.rule == "worker-heartbeat-timeout"
    assert "5 m 00 s" in found.cause
    assert "SIGSTOP" not in found.cause


def test_a_pause_of_a_worker_explains_that_it_was_silent() -> None:
    given_up = an_event("worker-ttl", "tcp://w1", at=5.5, ttl=300)
    pause = an_event("process-paused", "tcp://w1", at=5.4, pid=100, seconds=310.0)
    found = the_verdict(a_run(given_up, pause, killed_by(-9)))

    assert (
        "Worker tcp://w1 did not run for 5 m 10 s (SIGSTOP, a debugger" in found.cause
    )
    [evidence] = [each for each in found.evidence if "was stopped" in each.text]
    assert evidence.at is not None
    assert evidence.source == "events"


@pytest.mark.parametrize(
    ("sampled", "computed"), [(2.0, True), (9.0, False)], ids=["frozen", "resumed"]
)
def test_what_a_worker_did_once_it_had_resumed_did_not_freeze_it(
    sampled: float, *, computed: bool
) -> None:
    report = an_event(
        "worker-exit-report", "tcp://w1", at=10.0, worker="tcp://w1", pid=100,
        exit_code=-9, executing=[{"key": "boom-1", "start": START + 1}],
        memory=[[START + 1.0, 2**26], [START + sampled, 2**26]],
        when_killed={"state": "alive", "watched": 4.0, "cpu": 3.9},
        asked_to_close=True, close_reason="check-worker-ttl-1795230000.1",
        observed_at=START + 10.0,
    )  # fmt: skip
    given_up = an_event("worker-ttl", "tcp://w1", at=5.5, ttl=300)
    dead = a_death(exit_code=None, executing=["boom-1"], at=5.6)
    failed = raised_in("boom-1", killed_worker("boom-1"))
    found = the_verdict(a_run(a_worker(), a_graph(), given_up, *dead, report, *failed))

    assert found.rule == "worker-heartbeat-timeout"
    assert ("3.9 s of CPU time" in found.cause) == computed


def test_a_frozen_worker_that_the_job_had_stopped_is_not_said_to_hold_a_lock() -> None:
    stop = an_event(
        "driver-signalled",
        "driver",
        at=2,
        pid=1,
        target=100,
        signal="SIGSTOP",
        file="/jobs/nightly.py",
        line=12,
    )
    given_up = an_event("worker-ttl", "tcp://w1", at=5.5, ttl=300)
    found = the_verdict(a_run(stop, given_up, killed_by(-9)))

    assert found.rule == "worker-heartbeat-timeout"
    assert found.title.startswith("A worker was stopped by the run's own code")
    assert "the run's own script had stopped its process (at /jobs/nightly.py:12)" in (
        found.cause
    )
    run = a_run(stop, given_up, killed_by(-9))
    [step, *_] = chain_of(Case(run), verdict_in(run))
    assert step.text.endswith(
        "was stopped by the run's own script (SIGSTOP), sent no heartbeats and was removed"
    )
    assert "GIL" not in found.cause
    resumed = an_event(
        "driver-signalled", "driver", at=3, pid=1, target=100, signal="SIGCONT"
    )
    found = the_verdict(a_run(stop, resumed, given_up, killed_by(-9)))

    assert found.title.startswith("A worker froze")


def test_a_cluster_that_is_closed_under_its_work_kills_no_worker() -> None:
    failed = raised_in("boom-1", killed_worker("boom-1"))
    closed = a_departure(processing=["boom-1"], closing="nanny-close")
    found = the_verdict(a_run(a_worker(), a_graph(), *closed, *failed))

    assert (found.rule, found.confidence) == ("unknown", "low")


@pytest.mark.parametrize(
    "seen",
    [
        [a_sample("scheduler", at=at) for at in (1, 2, 3, 43)],
        [
            a_sample("scheduler", at=43),
            a_log_line(
                "Event loop was unresponsive in Scheduler for 40.00s.  This is often",
                at=43,
                role="scheduler",
                source="scheduler",
                logger="distributed.core",
            ),
        ],
    ],
    ids=["samples", "its own log"],
)
def test_workers_that_a_frozen_scheduler_gave_up_had_not_frozen(
    seen: list[Piece],
) -> None:
    given_up = an_event("worker-ttl", "tcp://w1", at=43, ttl=5)
    dead = a_death(exit_code=None, executing=["boom-1"], at=43.1)
    run = a_run(a_worker(), a_graph(), *seen, given_up, *dead, aborted(at=50))
    by_name = {finding.rule: finding for finding in findings_in(run)}

    assert the_verdict(run).rule == "driver-killed"
    assert (
        "scheduler removed it because of missing heartbeats, but the scheduler itself "
        "had been suspended for 40 s" in by_name["workers-died"].cause
    )


@pytest.mark.parametrize(
    ("busy", "own", "stolen", "said"),
    [
        pytest.param(78.0, 4.0, 0.0, "98% of its 8 were used", id="others"),
        pytest.param(60.0, 4.0, 14.0, "took 18% (steal)", id="a hypervisor"),
        pytest.param(78.0, 74.0, 0.0, "", id="the workers themselves"),
        pytest.param(20.0, 4.0, 0.0, "", id="cores are left"),
        pytest.param(None, 4.0, None, "", id="unknown"),
    ],
)
def test_a_host_without_a_core_for_a_worker_that_froze_is_named(
    busy: float | None, own: float, stolen: float | None, said: str
) -> None:
    load = an_event(
        "process-load", "tcp://w1", at=9.0, seconds=10.0, cores=8, cpu=own,
        host_busy=busy, host_stolen=stolen,
    )  # fmt: skip
    pieces = killed_by(-9, asked="check-worker-ttl-1795230000.1")
    found = the_verdict(a_run(*pieces, load))

    assert found.rule == "worker-heartbeat-timeout"
    assert ("Its host had no core left" in found.cause) == bool(said)
    assert said in found.cause
    assert ("keep other programs off it" in found.remedy) == bool(said)


@pytest.mark.parametrize(
    ("swapped", "said"), [(3e9, True), (1e6, False), (None, False)]
)
def test_a_host_that_swapped_as_a_worker_froze_is_named(
    swapped: float | None, *, said: bool
) -> None:
    load = an_event(
        "process-load", "tcp://w1", at=9.0, seconds=10.0, cores=8, host_swapped=swapped
    )
    pieces = killed_by(-9, asked="check-worker-ttl-1795230000.1")
    found = the_verdict(a_run(*pieces, load))

    assert ("had moved 2.8 GiB to and from swap" in found.cause) is said
    assert ("more memory" in found.remedy) is said


def test_a_frozen_worker_is_known_from_what_its_nanny_was_reported() -> None:
    run = a_run(*killed_by(-9, asked="check-worker-ttl-1795230000.1"))

    assert the_verdict(run).rule == "worker-heartbeat-timeout"


@pytest.mark.parametrize(
    ("closing", "rule"),
    [
        ("signal-15", "worker-preempted"),
        ("worker-lifetime-reached", "worker-lifetime"),
    ],
)
def test_a_host_that_takes_its_worker_away_is_named(closing: str, rule: str) -> None:
    run = a_run(
        a_worker(),
        *a_departure(processing=["boom-1"], closing=closing),
        *raised_in("boom-1", killed_worker("boom-1")),
    )
    found = the_verdict(run)

    assert found.rule == rule
    assert found.retry_advice == "transient"


def stopped(*ages: tuple[float, float], gives_up: bool) -> Finding:
    """Return the verdict on a run whose hosts stopped workers.

    Args:
        ages: When each joined, and when it left.
        gives_up: Dask gives up on a task then; else no worker is left, and the driver waits.
    """
    pieces: list[Piece] = []
    for n, (joined, left) in enumerate(ages):
        address = f"tcp://w{n + 1}"
        pieces += [
            a_worker(address, at=joined, pid=100 + n),
            *a_departure(address, at=left, processing=["boom-1"], closing="signal-15"),
        ]
    end = max(left for _, left in ages)
    waited = failed_with(an_exception("TimeoutError", ""), at=end + 20)
    ending = raised_in("boom-1", killed_worker("boom-1"), at=end)
    return the_verdict(a_run(a_graph(), *pieces, *(ending if gives_up else [waited])))


@pytest.mark.parametrize(
    ("ages", "gives_up", "said"),
    [
        ([(1, 10)], True, {"allowed-failures"}),
        ([(1, 10), (1, 12)], False, {"cluster.adapt"}),
        ([(1, 101), (101, 201)], True, {"allowed-failures", "--lifetime 90s"}),
        ([(1, 101), (101, 131)], True, {"allowed-failures"}),
    ],
    ids=["once", "nobody is left", "always after 100 s", "at different ages"],
)
def test_what_helps_against_hosts_that_stop_workers_depends_on_what_it_cost(
    ages: list[tuple[float, float]], said: set[str], *, gives_up: bool
) -> None:
    found = stopped(*ages, gives_up=gives_up)

    assert found.rule == "worker-preempted"
    ways = {"allowed-failures", "cluster.adapt", "--lifetime 90s", "--lifetime "}
    assert {each for each in ways - {"--lifetime "} if each in found.remedy} == said
    assert ("--lifetime " in found.remedy) == ("--lifetime 90s" in said)


@pytest.mark.parametrize(
    ("command", "parent", "rule"),
    [
        ("timeout 8 dask worker --nthreads 1", 70, "worker-time-limit"),
        ("/bin/timeout -k 5 -s TERM 8s dask worker", 70, "worker-time-limit"),
        ("timeout --foreground 8.0 dask worker", 70, "worker-time-limit"),
        ("timeout 8 dask worker --nthreads 1", 71, "worker-preempted"),  # another's
        ("timeout 1h dask worker --nthreads 1", 70, "worker-preempted"),
        ("nice dask worker --nthreads 8 1", 70, "worker-preempted"),
    ],
)
def test_a_command_with_a_time_limit_that_was_up_ended_its_worker(
    command: str, parent: int, rule: str
) -> None:
    ancestors = [[80, "1"], [parent, "1"], [1, "1"]]
    run = a_run(
        a_worker(),
        an_event("process-ancestors", "tcp://w1", at=2.5, pid=100, ancestors=ancestors),
        an_event(
            "program-failed", "driver", at=20.0, program_pid=70, command=command,
            code=-9, started=START + 2.0,
        ),
        *a_departure(at=10.1, processing=["boom-1"], closing="signal-15"),
        *raised_in("boom-1", killed_worker("boom-1"), at=10.5),
    )  # fmt: skip
    found = the_verdict(run)

    assert found.rule == rule
    assert ("`timeout" not in found.cause) == (rule == "worker-preempted")


def test_what_failed_inside_dask_itself_is_part_of_what_is_known() -> None:
    hard = an_event(
        "worker-failed-hard", "tcp://w1", at=9.9,
        message={"status": "error", "exception_text": "InvalidTransition('x-1')"},
    )  # fmt: skip
    dead = a_death(exit_code=1, processing=["x-1"], closing="worker-handle-fail-hard")
    run = a_run(a_worker(), hard, *dead, *raised_in("x-1", killed_worker("x-1")))
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("unknown", "low")
    assert "Dask's own code failed in worker 1 (tcp://w1)" in found.cause
    assert "InvalidTransition('x-1')" in found.cause


def test_the_largest_piece_is_named_as_the_one_that_decides() -> None:
    sizes = [10, 10, 10, 12, 80]
    loads = [a_task(f"load-{n}", nbytes=mib * MIB) for n, mib in enumerate(sizes)]
    usual = [
        a_task("merge-1", start=5, compute=2),
        a_sample(at=4, memory=60 * MIB),
        a_sample(at=6, memory=160 * MIB),
    ]
    new = {"merge": [5, 0]}
    graph = an_event(
        "graph-updated", "c", graph=1, tasks=15, prefixes={"merge": 5}, new=new
    )
    dead = a_death(exit_code=-15, executing=["merge-9"], memory=[(9.9, 390 * MIB)])
    limit = an_event(
        "worker-restarted-for-memory", "tcp://w1", at=9.9, pid=100, rss=LIMIT
    )
    facts = (
        a_worker(), graph, *loads, *usual, limit, *dead,
        *raised_in("merge-9", killed_worker("merge-9")),
    )  # fmt: skip
    found = the_verdict(a_run(*facts))
    of_a_host = the_verdict(
        a_run(*facts, an_event("task-named", "merge-9", name="", id=""))
    )

    assert found.rule == "worker-memory-limit"
    assert (
        "'load-4' returned 80 MiB, 8.0 times the median of 'load' (10 MiB)"
        in found.remedy
    )
    assert "at least 832 MiB (twice what they had, a lower bound" in found.remedy
    assert "at least 15 partitions or chunks, not 5" in found.remedy
    assert (
        "divide the work of 'merge-9' among at least 3 tasks (1 other task of this "
        "function finished with this limit)"
    ) in of_a_host.remedy


def test_tasks_of_a_host_none_of_which_fits_become_more() -> None:
    # A host submits each task in a graph of its own, with those that it needs.
    graphs = [
        an_event(
            "graph-updated", "c", graph=1 + n, tasks=1, prefixes={"merge": n}, new=new
        )
        for n, new in enumerate([{"merge": [1, 1]}] * 4)
    ]
    dead = a_death(exit_code=-15, executing=["merge-9"], memory=[(9.9, 390 * MIB)])
    limit = an_event(
        "worker-restarted-for-memory", "tcp://w1", at=9.9, pid=100, rss=LIMIT
    )
    named = an_event("task-named", "merge-9", name="", id="")
    lost = raised_in("merge-9", killed_worker("merge-9"))

    found = the_verdict(a_run(a_worker(), *graphs, limit, *dead, *lost, named))

    assert "at least 12 tasks, not 4" in found.remedy


def test_a_worker_that_disappeared_with_its_nanny_lost_its_host() -> None:
    run = a_run(
        a_worker(),
        *a_departure(processing=["boom-1"]),
        *raised_in("boom-1", killed_worker("boom-1")),
        a_sample("tcp://w2", at=19),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("worker-host-lost", "medium")


def test_a_nanny_that_still_sends_did_not_disappear() -> None:
    run = a_run(
        a_worker(),
        *a_departure(processing=["boom-1"]),
        *raised_in("boom-1", killed_worker("boom-1")),
        a_log_line("Nanny at 'tcp://n1' closed.", at=11, role="nanny", source="nanny"),
        a_sample("tcp://w2", at=19),
    )

    assert the_verdict(run).rule == "unknown"


def test_without_any_witness_the_verdict_is_unknown_and_reports_what_is_missing() -> (
    None
):
    run = a_run(
        a_worker(nanny=None),
        *a_departure(processing=["boom-1"]),
        *raised_in("boom-1", killed_worker("boom-1")),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("unknown", "low")
    assert "the exit codes of 1 worker" in found.cause


def test_killed_worker_without_any_recorded_death_is_unknown() -> None:
    run = a_run(*raised_in("boom-1", killed_worker("boom-1")))
    found = the_verdict(run)

    assert found.rule == "unknown"
    assert "the worker deaths that Dask reported" in found.cause


def test_the_guilty_is_who_was_executing_not_who_was_only_there() -> None:
    run = a_run(
        a_worker("tcp://w1", pid=1),
        a_worker("tcp://w2", pid=2),
        *a_death(
            "tcp://w1", pid=1, exit_code=-11, at=9,
            executing=["crash-1"], processing=["crash-1", "inc-7"],
        ),
        *a_death(
            "tcp://w2", pid=2, exit_code=-11, at=10,
            executing=["crash-1"], processing=["crash-1", "inc-7"],
        ),
        *raised_in("inc-7", killed_worker("inc-7")),
    )  # fmt: skip
    found = the_verdict(run)

    assert found.subject.key == "crash-1"
    assert "at both deaths" in found.cause
    assert (
        "Dask blames 'inc-7', which was only assigned to the same worker" in found.cause
    )
    assert (
        found.title
        == "Workers crashed 2 times in native code (SIGSEGV) while running 'crash'"
    )


@pytest.mark.parametrize(
    "leaving",
    [
        pytest.param(
            a_departure(stimulus="retire-workers-1", expected=True), id="retired"
        ),
        pytest.param(
            a_departure(stimulus="client-restart-1", processing=["inc-1"]),
            id="restarted on request",
        ),
        pytest.param(
            a_death(exit_code=0, closing="nanny-close", asked="nanny-close"),
            id="closed with its cluster",
        ),
        pytest.param(
            a_death(exit_code=-15, asked="nanny-close", executing=["inc-1"]),
            id="ended by its closing nanny",
        ),
        pytest.param(
            a_departure(closing="scheduler-close", processing=["inc-1"]),
            id="closed by the scheduler",
        ),
        pytest.param(a_departure(), id="left with nothing in its hands"),
        pytest.param(a_departure(at=70, processing=["inc-1"]), id="after the run"),
        pytest.param(
            [
                an_event("scheduler-closing", at=9.5, reason="unknown"),
                *a_death(exit_code=-9, executing=["inc-1"]),
            ],
            id="when the scheduler had begun to close",
        ),
    ],
)
def test_a_worker_that_left_in_order_is_no_death(leaving: list[Piece]) -> None:
    run = a_run(a_worker(), *leaving, succeeded())

    assert rules(run) == []


def test_deaths_of_a_run_that_succeeded_are_a_warning() -> None:
    run = a_run(
        a_worker("tcp://w1", pid=1),
        a_worker("tcp://w2", pid=2),
        *a_death("tcp://w1", pid=1, exit_code=-9, executing=["inc-1"]),
    )
    (found,) = findings_in(run)

    assert (found.rule, found.severity) == ("workers-died", "warning")
    assert found.title == "1 worker died because of a signal from outside Dask"
    assert "The run succeeded nevertheless" in found.cause
    assert verdict_of((found,), run) is None


def test_a_worker_that_the_script_itself_ended_is_no_warning() -> None:
    sent = {"signal": "SIGKILL", "target": 100, "file": "/jobs/chaos.py", "line": 7}
    run = a_run(
        an_event("driver-attached", "driver", at=0.5, pid=1, boot="this kernel"),
        a_worker(),
        an_event("process-ancestors", "tcp://w1", at=1, pid=100, boot="this kernel"),
        an_event("driver-signalled", "driver", at=10, **sent),
        *a_death(exit_code=-9, at=10, executing=["render-1"]),
        a_graph(at=15),
        succeeded(),
    )
    (found,) = findings_in(run)

    assert (found.rule, found.severity) == ("workers-died", "notice")


def test_lifetimes_that_ended_are_no_warning_where_the_run_succeeded() -> None:
    ended = a_departure(processing=["inc-1"], closing="worker-lifetime-reached")
    run = a_run(a_worker(), *ended, succeeded())

    assert "workers-died" not in rules(run)


def test_deaths_beside_a_task_error_are_not_the_verdict() -> None:
    error = an_exception("ZeroDivisionError", "division by zero")
    run = a_run(
        a_worker(),
        *a_death(exit_code=-9, executing=["inc-1"], at=4),
        *raised_in("divide-1", error),
    )

    assert the_verdict(run).rule == "task-exception"
    assert "workers-died" in rules(run)


def test_a_driver_that_disappeared_is_not_explained_by_one_death_of_many_workers() -> (
    None
):
    run = a_run(
        a_worker(),
        a_worker("tcp://w2", pid=2),
        *a_death(exit_code=-11, executing=["boom-1"]),
        an_event("driver-lost", at=20, pid=1),
        aborted(),
    )
    found = the_verdict(run)

    assert found.rule == "driver-killed"
    assert "1 worker had died by then" in found.cause


def test_a_driver_that_was_stopped_when_no_worker_was_left_is_explained_by_them() -> (
    None
):
    run = a_run(
        a_worker(),
        *a_death(
            exit_code=0,
            processing=["load-1"],
            lines=["Failed to deserialize\nModuleNotFoundError: No module named 'x'"],
            closing="worker-handle-scheduler-connection-broken",
        ),
        an_event("driver-lost", at=20, pid=1),
        aborted(),
    )

    assert the_verdict(run).rule == "environment-mismatch"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Worker process 100 was killed by signal 11", "worker-segfault"),
        ("Worker process 100 exited with status 3", "worker-exit"),
        ("Worker process 100 was killed by unknown signal", "worker-exit"),
    ],
)
def test_a_nannys_log_line_replaces_a_missing_exit_report(line: str, rule: str) -> None:
    run = a_run(
        a_worker(),
        *a_departure(processing=["boom-1"]),
        a_log_line(line, at=10.1, role="nanny", source="nanny", level=20),
        *raised_in("boom-1", killed_worker("boom-1")),
    )

    assert the_verdict(run).rule == rule


def test_workers_that_leave_after_their_scheduler_are_no_deaths() -> None:
    lost = an_exception(
        "distributed.client.FutureCancelledError",
        "slow-1 cancelled for reason: scheduler-connection-lost.",
    )
    run = a_run(
        a_worker(),
        an_event("scheduler-lost", at=9),
        *a_departure(
            processing=["slow-1"], closing="worker-handle-scheduler-connection-broken"
        ),
        failed_with(lost),
    )

    assert rules(run) == ["scheduler-lost"]


def test_workers_whom_their_scheduler_has_still_removed_are_not_lost_with_it() -> None:
    run = a_run(
        a_worker(),
        *a_departure(
            at=10,
            processing=["slow-1"],
            closing="worker-handle-scheduler-connection-broken",
        ),
        an_event("scheduler-lost", at=30),
        aborted(),
    )

    assert rules(run) == [
        "environment-mismatch"
    ]  # it left of itself, with work in hand


def test_a_blamed_task_that_was_running_is_not_called_innocent() -> None:
    pieces = []
    for number, key in enumerate(("hog-2", "hog-2", "hog-1"), start=1):
        address = f"tcp://w{number}"
        pieces += [
            a_worker(address, pid=number),
            *a_death(
                address, pid=number, exit_code=-11, at=number + 0.1, executing=[key],
                processing=["hog-1", "hog-2"],
            ),
        ]  # fmt: skip
    run = a_run(*pieces, *raised_in("hog-1", killed_worker("hog-1"), at=4))
    found = the_verdict(run)

    assert found.subject.key == "hog-1"
    assert "only on the same worker" not in found.cause


def test_every_cause_of_a_death_has_a_text_of_its_own() -> None:
    written = Path(exit_causes.__file__).read_text("utf-8").partition("class ")[2]
    named = set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', written))
    named -= set(get_args(UnitEnding))  # one has the name of a rule

    assert {"unknown"} | (named & {rule.slug for rule in RULES}) == set(DIED)
    assert len(set(DIED.values())) == len(DIED)


def _given_up_without_workers(
    *pieces: Piece | Iterable[Piece], error: str = "NoWorkerError"
) -> Finding:
    """Return the verdict on a run whose task was given up, 15 s after the last worker left."""
    why = "without any running workers."
    if error != "NoWorkerError":
        why = "for a valid worker matching all restrictions.\\n\\nRestrictions:\\nrestrictions={'gpu-1'}\\n"
    text = f"Attempted to run task 'load-5' but timed out after 15.00 s waiting {why}"
    raised = an_exception(f"distributed.scheduler.{error}", text, key="load-5")
    return the_verdict_on(a_graph(), *pieces, *raised_in("load-5", raised, at=25.0))


@pytest.mark.parametrize(
    ("death", "rule"),
    [
        ({"exit_code": -11}, "worker-segfault"),
        ({"exit_code": -9}, "worker-signalled"),
        ({"exit_code": 3}, "worker-exit"),
        ({"exit_code": None, "closing": "signal-15"}, "worker-preempted"),
        ({"exit_code": None}, "no-valid-worker"),
    ],
)
def test_that_no_worker_is_left_is_due_to_what_ended_the_workers(
    death: dict[str, Any], rule: str
) -> None:
    found = _given_up_without_workers(
        a_worker(), *a_death(at=10.0, executing=["load-2"], **death)
    )

    assert found.rule == rule
    known = rule != "no-valid-worker"
    assert found.subject.key == ("load-2" if known else "load-5")


def test_that_no_worker_is_left_is_not_due_to_a_death_before_others_were_closed() -> (
    None
):
    found = _given_up_without_workers(
        a_worker(),
        *a_death(at=5.0, exit_code=-11, executing=["load-2"]),
        a_worker("tcp://w2", at=6.0, pid=200),
        *a_departure("tcp://w2", at=10.0, expected=True, closing="nanny-close"),
    )

    assert found.rule == "no-valid-worker"


def test_a_task_that_asks_for_what_no_worker_had_does_not_wait_for_those_that_died() -> (
    None
):
    found = _given_up_without_workers(
        a_worker(),
        *a_death(at=10.0, exit_code=-11, executing=["load-2"]),
        error="NoValidWorkerError",
    )

    assert found.rule == "no-valid-worker"

"""Workers that die in other ways than of a task at its work, and what is said of them."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    LIMIT,
    MIB,
    a_death,
    a_departure,
    a_graph,
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
    the_verdict,
)


def stood_still_without_workers() -> tuple[str, object]:
    """Return that a task was wanted, and nobody there to do it."""
    return an_event("stall", at=19, lasted=9, workers=0, states={"queued": 1})


def a_closed_connection(remote: str) -> tuple[str, object]:
    """Return that the driver learned of a connection that had been closed."""
    message = (
        "in <TCP (closed) Scheduler Broadcast local=tcp://127.0.0.1:45042 "
        f"remote={remote}>: Stream is closed"
    )
    error = an_exception("distributed.comm.core.CommClosedError", message)
    return failed_with(error, at=11)


def test_a_function_that_is_run_on_all_workers_ends_them() -> None:
    run = a_run(
        a_worker("tcp://w1"),
        a_worker("tcp://w2"),
        *a_death("tcp://w1", exit_code=3),
        *a_death("tcp://w2", exit_code=3),
        an_event("scheduler-closing", at=10.5, reason="terminate"),
        a_closed_connection("tcp://w2"),
    )
    found = the_verdict(run)

    assert found.rule == "worker-exit"
    assert "2 times with code 3" in found.title
    assert "`client.run` does, at /jobs/nightly.py:12" in found.cause


def test_a_table_that_is_loaded_on_all_workers_takes_them_over_their_limit() -> None:
    run = a_run(
        a_worker("tcp://w1", memory_limit=LIMIT),
        an_event(
            "worker-restarted-for-memory", "tcp://w1", at=9.8, pid=100, rss=390 * MIB
        ),
        *a_death("tcp://w1", exit_code=-15, memory=[(9, 380 * MIB)]),
        a_closed_connection("tcp://w1"),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("worker-memory-limit", "high")
    assert "No task was running" in found.cause
    assert "pieces" not in found.remedy
    assert "the code that the driver runs on every worker" in found.remedy


def test_a_closed_connection_to_a_worker_is_no_word_on_the_scheduler() -> None:
    run = a_run(a_worker("tcp://w1"), a_closed_connection("tcp://w1"))

    assert the_verdict(run).rule != "scheduler-lost"


def test_a_process_that_may_not_grow_closes_itself() -> None:
    text = (
        "Unexpected exception during heartbeat. Closing worker.\nTraceback (most recent "
        'call last):\n  File "msgpack/_packer.pyx", line 108\nMemoryError: Unable to '
        "allocate internal buffer."
    )
    run = a_run(
        a_worker("tcp://w1", memory_limit=0),
        a_graph(),
        *a_death("tcp://w1", exit_code=None, processing=["read-1"], lines=[text]),
        stood_still_without_workers(),
        aborted(at=20),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("task-memory-error", "medium")
    assert "Dask had no memory limit on these workers" in found.cause
    assert "ulimit -v" in found.remedy


def test_a_task_that_could_not_allocate_has_not_ended_its_worker() -> None:
    text = "Compute Failed\nKey: read-1\nException: 'MemoryError()'"
    run = a_run(
        a_worker("tcp://w1"),
        a_graph(),
        *a_death("tcp://w1", exit_code=0, processing=["read-1"], lines=[text]),
        stood_still_without_workers(),
        aborted(at=20),
    )

    assert the_verdict(run).rule == "worker-exit"


@pytest.mark.parametrize(
    ("between", "results", "kept"),
    [
        (300 * MIB, 0, True),  # it never came down
        (80 * MIB, 0, False),  # each task gave it back
        (300 * MIB, 120 * MIB, False),  # that is what Dask keeps
    ],
)
def test_what_earlier_tasks_left_is_not_the_last_ones_fault(
    between: int, results: int, *, kept: bool
) -> None:
    memory = [(2, 60 * MIB), (4, 200 * MIB), (6.1, between), (6.5, between)]
    run = a_run(
        a_worker("tcp://w1", memory_limit=LIMIT, nthreads=1),
        a_graph(),
        *(
            a_task(f"add-{n}", start=3.0 + n, compute=0.9, nbytes=results)
            for n in range(4)
        ),
        an_event(
            "worker-restarted-for-memory", "tcp://w1", at=9.8, pid=100, rss=390 * MIB
        ),
        *a_death(
            "tcp://w1",
            exit_code=-15,
            executing=["add-9"],
            memory=[*memory, (9.7, LIMIT)],
        ),
        *raised_in("add-9", killed_worker("add-9")),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("worker-memory-limit", "high")
    assert ("no result accounts" in found.cause) == kept
    assert ("keeps from one task to the next" in found.remedy) == kept


def test_a_death_beside_another_failure_was_no_luck() -> None:
    run = a_run(
        a_worker("tcp://w1"),
        *a_death("tcp://w1", exit_code=-9),
        failed_with(an_exception("KeyError", "'tuesday'"), at=30),
    )
    (died,) = [each for each in findings_in(run) if each.rule == "workers-died"]

    assert "luck" not in died.remedy
    assert "worker-signalled may make the next run fail" in died.remedy


def a_task_that_ends_worker_after_worker(
    *end: object, ended: bool = False
) -> RunTables:
    """Return a run in which Dask would have tried a task again forever."""
    pieces = [a_graph()]
    for n in range(3):
        address, at = f"tcp://w{n}", 10.0 * (n + 1)
        pieces.append(a_worker(address, pid=n))
        pieces += a_death(address, exit_code=-11, executing=["warp-1"], at=at, pid=n)
    pieces.append(a_worker("tcp://w9", pid=9))
    if ended:
        pieces.append(a_task("warp-1", worker="tcp://w9", start=32))
    return a_run(*pieces, *end)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", [-15, 143, -1])
def test_a_host_that_ends_a_driver_that_waits_for_such_a_task_is_no_cause(
    code: int,
) -> None:
    lost = an_event("driver-lost", at=40, pid=7, exit_code=code, oom_kills=0)
    end = (lost, aborted(at=40))
    found = the_verdict(a_task_that_ends_worker_after_worker(*end))

    assert (found.rule, found.confidence) == ("worker-segfault", "medium")
    assert "3 times" in found.title
    assert "the driver waited until it was stopped by SIG" in found.cause
    over = the_verdict(a_task_that_ends_worker_after_worker(*end, ended=True))
    assert over.rule == "driver-killed"


def test_a_driver_that_is_killed_itself_did_not_only_wait() -> None:
    lost = an_event("driver-lost", at=40, pid=7, exit_code=-9, oom_kills=1)
    run = a_task_that_ends_worker_after_worker(lost, aborted(at=40))

    assert the_verdict(run).rule == "driver-killed"


def a_deadline_of_the_users_own(message: str) -> tuple[str, object]:
    """Return that the driver's own code looked at the clock, or at its data, and raised."""
    trace = (
        'Traceback (most recent call last):\n  File "/jobs/nightly.py", line 12, in main\n'
        f"    raise JobError({message!r})\njobs.JobError: {message}\n"
    )
    return failed_with(an_exception("jobs.JobError", message, traceback=trace), at=40)


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("3 of 9 parts are not done after 60 s: giving up", "workers-paused"),
        ("the prices of Tuesday are negative", "driver-exception"),
    ],
)
def test_a_deadline_in_the_users_own_message_is_recognised(
    message: str, rule: str
) -> None:
    stall = an_event(
        "stall",
        at=38,
        lasted=20,
        workers=1,
        statuses={"paused": 1},
        paused=["tcp://w1"],
        states={"processing": 3},
    )
    full = a_sample(memory=380 * MIB, status="paused")
    end = a_deadline_of_the_users_own(message)

    assert the_verdict(a_run(a_worker(), a_graph(), full, stall, end)).rule == rule


def test_a_driver_that_gives_up_such_a_task_with_its_own_message_is_no_cause() -> None:
    end = a_deadline_of_the_users_own("no progress for half a minute")
    found = the_verdict(a_task_that_ends_worker_after_worker(end))

    assert (found.rule, found.confidence) == ("worker-segfault", "medium")


@pytest.mark.parametrize(
    ("nanny", "step", "rule", "advice"),
    [
        (None, 0, "unknown", "unknown"),
        (None, 80, "kernel-oom", "memory"),
        ("tcp://n1", 0, "worker-host-lost", "transient"),
        ("tcp://n1", 80, "worker-host-lost", "memory"),
    ],
)
def test_how_full_a_worker_was_hints_at_memory_between_samples(
    nanny: str | None, step: int, rule: str, advice: str
) -> None:
    climb = [a_sample(at=5 + n / 2, memory=(90 + n * step) * MIB) for n in range(10)]
    run = a_run(
        a_worker(nanny=nanny, memory_limit=2**31),
        a_graph(),
        *climb,
        *a_departure("tcp://w1", at=10, processing=["read-1"]),
        *([an_event("nanny-lost", "tcp://w1", at=13)] if nanny else []),
        *raised_in("read-1", killed_worker("read-1"), at=14),
    )
    found = the_verdict(run)

    assert (found.rule, found.retry_advice) == (rule, advice)
    assert (found.confidence == "high") == (rule == "worker-host-lost")
    assert ("its memory had climbed by" in found.cause) == bool(step)


@pytest.mark.parametrize(
    ("last", "advice"), [(900 * MIB, "memory"), (120 * MIB, "transient")]
)
def test_a_scheduler_whose_memory_had_grown_is_reported_so(
    last: int, advice: str
) -> None:
    gone = an_exception(
        "distributed.client.FutureCancelledError",
        "weigh-1 cancelled for reason: scheduler-connection-lost.",
    )
    memory = [
        a_sample("scheduler", at=at, memory=rss)
        for at, rss in ((2, 90 * MIB), (9, last))
    ]
    found = the_verdict(a_run(a_worker(), *memory, failed_with(gone)))

    assert (found.rule, found.retry_advice) == ("scheduler-lost", advice)
    assert ("grown from 90 MiB to 900 MiB" in found.title) == (advice == "memory")


@pytest.mark.parametrize(
    ("pid", "code", "advice"),
    [(7, -9, "memory"), (8, -9, "unknown"), (7, -15, "unknown")],
)
def test_a_driver_that_is_its_scheduler_is_seen_to_grow(
    pid: int, code: int, advice: str
) -> None:
    lost = an_event("driver-lost", at=20, pid=7, exit_code=code, oom_kills=0)
    facts = [an_event("driver-attached", pid=7), an_event("scheduler-info", pid=pid)]
    memory = [
        a_sample("scheduler", at=at, memory=rss)
        for at, rss in ((2, 90 * MIB), (15, 1200 * MIB), (19, 1900 * MIB))
    ]
    found = the_verdict(a_run(a_worker(), *facts, *memory, lost, aborted()))

    assert (found.rule, found.retry_advice) == ("driver-killed", advice)
    assert ("grown from 90 MiB to 1.9 GiB" in found.cause) == (advice == "memory")


@pytest.mark.parametrize(
    ("done", "rule"), [(True, "driver-exception"), (False, "worker-signalled")]
)
def test_a_death_whose_work_was_done_elsewhere_kept_nobody_waiting(
    *, done: bool, rule: str
) -> None:
    tasks = [a_task(f"step-{n}", worker="tcp://w2", start=3.0 + n) for n in range(56)]
    run = a_run(
        a_worker("tcp://w1"),
        a_worker("tcp://w2", pid=2),
        a_graph(80),
        *a_death("tcp://w1", exit_code=-9, executing=["step-30"], at=10),
        *(task for n, task in enumerate(tasks) if done or n != 30),
        failed_with(an_exception("TimeoutError", ""), at=60),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == (rule, "medium")


def a_crash_of_two_threads(function: str, other: str) -> str:
    """Return the stack of a crash in one thread, while another was busy as well."""
    busy = (
        "Thread 0x01 (most recent call first):\n"
        f'  File "/jobs/wait.py", line 3 in {other}\n'
        '  File "/v/distributed/worker.py", line 9 in _run_task\n'
    )
    crashed = (
        "Current thread 0x02 (most recent call first):\n"
        f'  File "/jobs/warp.py", line 7 in {function}\n'
        '  File "/v/distributed/worker.py", line 9 in _run_task\n'
    )
    return f"Fatal Python error: Segmentation fault\n\n{busy}\n{crashed}"


@pytest.mark.parametrize(
    ("function", "other", "guilty"),
    [
        ("warp", "slow", "warp"),
        ("<lambda>", "slow", "warp"),  # the other's thread is known, and is not the one
        ("<lambda>", "<lambda>", "slow"),
    ],
)
def test_the_stack_of_a_crash_separates_the_guilty_from_who_was_always_there(
    function: str, other: str, guilty: str
) -> None:
    stack = a_crash_of_two_threads(function, other)
    dead = [
        piece
        for n in (1, 2)
        for piece in a_death(
            f"tcp://w{n}",
            exit_code=-11,
            at=5.0 * n,
            pid=n,
            executing=["slow-1", f"warp-{n}"],
            stack=stack,
        )
    ]
    workers = [a_worker(f"tcp://w{n}", pid=n) for n in (1, 2)]
    killed = raised_in("slow-1", killed_worker("slow-1"), at=11)
    found = the_verdict(a_run(*workers, a_graph(), *dead, *killed))

    reported = guilty == "warp"
    assert found.rule == "worker-segfault"
    assert found.confidence == ("high" if reported else "medium")
    named = "'warp'" if reported else "'slow' or 'warp'"
    assert found.title.endswith(f"while running {named}")
    assert "/jobs/warp.py:7" in found.cause
    assert (
        "Dask blames 'slow-1', which only ran on the same worker" in found.cause
    ) == reported


@pytest.mark.parametrize(("with_it", "text"), [(2, "'slow' or 'leave'"), (1, "'slow'")])
def test_who_was_there_as_often_may_be_guilty_as_well(with_it: int, text: str) -> None:
    dead = [
        piece
        for n in (1, 2)
        for piece in a_death(
            f"tcp://w{n}",
            exit_code=9,
            at=5.0 * n,
            pid=n,
            executing=["slow-1", f"leave-{n}"] if n <= with_it else ["slow-1"],
        )
    ]
    workers = [a_worker(f"tcp://w{n}", pid=n) for n in (1, 2)]
    killed = raised_in("slow-1", killed_worker("slow-1"), at=11)
    found = the_verdict(a_run(*workers, a_graph(), *dead, *killed))

    assert found.title.endswith(f"while running {text}")
    assert f"Code run by {text} ends" in found.remedy


def test_what_the_kernel_took_needs_more_than_it_had_not_than_dask_allowed() -> None:
    run = a_run(
        a_worker(memory_limit=12 * 2**30),
        a_graph(),
        *a_death(
            exit_code=-9, executing=["draw-1"], oom_kills=1, memory=[(9, 768 * MIB)]
        ),
        *raised_in("draw-1", killed_worker("draw-1")),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("kernel-oom", "high")
    assert "Dask's own limit of 12 GiB was above" in found.remedy
    assert "start with 1.5 GiB for each worker, twice the largest" in found.remedy


def test_a_death_before_a_shuffle_of_bad_data_is_not_why_that_failed() -> None:
    text = "P2P 2dd13b545a92e934bf655a3209ba7a2e failed during transfer phase"
    chain = (
        "Traceback (most recent call last):\n"
        '  File "/v/site-packages/distributed/shuffle/_core.py", line 520, in transfer\n'
        "ValueError: Expected self.meta.columns to match data.columns\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/v/site-packages/distributed/shuffle/_core.py", line 531, in handle\n'
        f"RuntimeError: {text}\n"
    )
    error = an_exception("RuntimeError", text, traceback=chain, chain=["ValueError"])
    dead = a_death("tcp://w1", exit_code=1, at=4, executing=["once-1"])
    run = a_run(a_worker(), *dead, *raised_in("shuffle-transfer-1", error))
    found = the_verdict(run)

    assert (found.rule, found.retry_advice) == ("p2p-failed", "code")
    assert "died" not in found.cause + found.remedy
    steps = card_of(run, findings_in(run)).chain
    assert steps[0].text.startswith("A shuffle failed in its transfer phase")


def test_what_the_last_task_took_at_once_was_not_left_by_tiny_ones() -> None:
    tiny = [a_task(f"get-{n}", start=8.0 + n / 100, compute=0.005) for n in range(40)]
    memory = [(2, 60 * MIB), (8.45, 300 * MIB), (8.6, 350 * MIB)]
    run = a_run(
        a_worker("tcp://w1", memory_limit=LIMIT, nthreads=1),
        a_graph(),
        *tiny,
        an_event(
            "worker-restarted-for-memory", "tcp://w1", at=8.7, pid=100, rss=390 * MIB
        ),
        *a_death(
            "tcp://w1", exit_code=-15, executing=["merge-1"], memory=memory, at=8.8
        ),
        *raised_in("merge-1", killed_worker("merge-1")),
    )

    assert "no result accounts" not in the_verdict(run).cause


@pytest.mark.parametrize("written", [True, False], ids=["stacks", "no stacks"])
def test_whose_code_called_os_exit_is_separated_from_who_ran_beside_it(
    *, written: bool
) -> None:
    stack = a_crash_of_two_threads("warp", "slow").partition("\n\n")[2]
    stack = f"os._exit(66)\n\n{stack}"
    dead = a_death(
        "tcp://w1",
        exit_code=66,
        executing=["slow-1", "warp-1"],
        stack=stack if written else "",
    )
    killed = raised_in("slow-1", killed_worker("slow-1"), at=11)
    found = the_verdict(a_run(a_worker(), a_graph(), dead, killed))

    assert found.rule == "worker-exit"
    named = "'warp'" if written else "'slow' or 'warp'"
    assert found.title.endswith(f"while running {named}")
    assert found.confidence == ("high" if written else "medium")


@pytest.mark.parametrize(
    ("counted", "rule"),
    [(None, "kernel-oom"), (1, "kernel-oom"), (0, "worker-signalled")],
)
def test_a_kill_while_memory_grew_is_the_kernels_unless_its_counter_shows_none(
    counted: int | None, rule: str
) -> None:
    grown = [(5.0 + n / 2, (20 + 30 * n) * MIB) for n in range(11)]
    dead = a_death(
        "tcp://w1", exit_code=-9, executing=["wet-1"], memory=grown,
        host_oom_kills=counted,
    )  # fmt: skip
    killed = raised_in("wet-1", killed_worker("wet-1"), at=11)
    found = the_verdict(a_run(a_worker(), a_graph(), dead, killed))

    assert found.rule == rule
    assert ("its counter of such kills did not increase" in found.cause) == (
        rule == "worker-signalled"
    )

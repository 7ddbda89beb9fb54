"""Which signals say by themselves who sent them."""

from __future__ import annotations

import signal

import pytest
from runs_from_rows import (
    LIMIT,
    MIB,
    Piece,
    a_death,
    a_graph,
    a_run,
    a_worker,
    aborted,
    an_event,
    killed_worker,
    raised_in,
    the_verdict,
)


def killed_by(exit_code: int) -> list[Piece]:
    """Return a worker that was ended while it ran `fit-1`, and the run that failed."""
    return [
        a_worker(memory_limit=LIMIT),
        a_graph(),
        *a_death(exit_code=exit_code, executing=["fit-1"], memory=[(2, 90 * MIB)]),
        *raised_in("fit-1", killed_worker("fit-1")),
    ]


@pytest.mark.parametrize(
    ("exit_code", "title", "remedy", "advice"),
    [
        (-24, "received SIGXCPU at the limit of CPU time", "ulimit -t", "environment"),
        (-25, "received SIGXFSZ at the limit of a file", "ulimit -f", "environment"),
        (-14, "received SIGALRM from a timer set in", "signal.alarm", "code"),
        (
            -1,
            "received SIGHUP while running 'fit' because a terminal",
            "nohup",
            "environment",
        ),
        (-31, "received SIGSYS for a forbidden system call", "seccomp", "environment"),
        (-10, "received SIGUSR1 from outside Dask", "Slurm", "unknown"),
        (-15, "received SIGTERM from outside Dask", "what ends processes", "transient"),
    ],
)
def test_a_signal_of_one_sender_is_reported_with_its_sender(
    exit_code: int, title: str, remedy: str, advice: str
) -> None:
    found = the_verdict(a_run(*killed_by(exit_code)))

    assert (found.rule, found.confidence) == ("worker-signalled", "high")
    assert title in found.title
    assert "while running 'fit'" in found.title
    assert remedy in found.remedy
    assert found.retry_advice == advice
    assert ("something outside Dask" in found.cause) == (exit_code == -15)


@pytest.mark.parametrize(
    ("by", "title", "remedy", "advice"),
    [
        (
            "SIGXCPU",
            "SIGXCPU at the limit of CPU time after",
            "setrlimit",
            "environment",
        ),
        ("SIGALRM", "SIGALRM from a timer set in the process", "setitimer", "code"),
    ],
)
def test_a_driver_is_ended_by_such_a_signal_too(
    by: str, title: str, remedy: str, advice: str
) -> None:
    number = -int(getattr(signal, by))
    run = a_run(
        a_worker(),
        a_graph(),
        an_event("driver-ended", "driver", at=9, exit_code=number),
        aborted(exit_code=number),
    )
    found = the_verdict(run)

    assert found.rule == "driver-killed"
    assert title in found.title
    assert remedy in found.remedy
    assert found.retry_advice == advice


def test_a_daemon_that_watches_memory_asks_before_it_kills() -> None:
    climb = [(5.0 + n / 2, (90 + 60 * n) * MIB) for n in range(10)]
    run = a_run(
        a_worker(memory_limit=2**31),
        a_graph(),
        *a_death(exit_code=-15, executing=["fit-1"], memory=climb),
        *raised_in("fit-1", killed_worker("fit-1")),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("worker-signalled", "medium")
    assert "earlyoom" in found.cause
    assert found.retry_advice == "memory"


def test_a_trap_of_a_compiler_is_a_crash_of_native_code() -> None:
    found = the_verdict(a_run(*killed_by(-5)))

    assert (found.rule, found.confidence) == ("worker-segfault", "high")
    assert "SIGTRAP" in found.title
    assert "a stack overflow" in found.cause  # nothing could be written


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("inproc://127.0.0.1/1/4", "threads of its own process"),
        ("tcp://w1", "the driver's own code"),
    ],
)
def test_a_driver_that_crashes_is_not_looked_for_with_its_host(
    address: str, message: str
) -> None:
    lost = an_event("driver-lost", at=20, pid=7, exit_code=-11, oom_kills=0)

    found = the_verdict(a_run(a_worker(address), lost, aborted()))

    assert (found.rule, found.confidence) == ("driver-killed", "high")
    assert found.title.startswith("The driver crashed in native code (SIGSEGV)")
    assert message in f"{found.cause} {found.remedy}"
    assert found.retry_advice == "code"

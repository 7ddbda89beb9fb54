"""In an MPI job, the rank that ended first is the cause; its launcher names it."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse.facts.mpi_ranks import first_rank_exit
from dask_blackbox.analyse.facts.worker_exit_sources import deaths_of
from runs_from_rows import (
    Piece,
    a_graph,
    a_log_line,
    a_run,
    a_worker,
    an_event,
    failed_with,
    the_verdict,
)

# As Open MPI 4.1.4 printed it.
_SIGNAL = (
    "mpirun noticed that process rank 3 with PID 0 on node vm exited on signal 9 (Killed).",
)
_STATUS = (
    "mpirun detected that one or more processes exited with non-zero status, thus causing",
    "the job to be terminated. The first process to do so was:",
    "",
    "  Process name: [[24976,1],3]",
    "  Exit code:    3",
)


def printed(lines: tuple[str, ...]) -> list[Piece]:
    return [
        a_log_line(
            line, at=9.5, role="driver", source="driver", seq=seq, logger="stderr"
        )
        for seq, line in enumerate(lines, 1)
    ]


def ranks() -> list[Piece]:
    """Return a scheduler (rank 0), a client (rank 1) and two workers without nannies."""
    return [
        an_event("driver-attached", "driver", argv=["mpirun", "-n", "4"]),
        a_worker("tcp://w2", name="2", pid=102, nanny=None),
        a_worker("tcp://w3", name="3", pid=103, nanny=None),
        a_graph(20),
    ]


@pytest.mark.parametrize(
    ("lines", "code", "launcher", "rule"),
    [
        (_SIGNAL, -9, 137, "worker-signalled"),
        (_STATUS, 3, 3, "worker-exit"),
    ],
    ids=["signal", "status"],
)
def test_the_worker_of_the_rank_that_ended_first_is_the_cause(
    lines: tuple[str, ...], code: int, launcher: int, rule: str
) -> None:
    signalled = an_event("task-signalled", "die-1", at=9.3, pid=103, target=103,
                         signal="SIGKILL")  # fmt: skip
    run = a_run(
        *ranks(),
        *([signalled] if code < 0 else ()),
        *printed(lines),
        failed_with(at=10, exit_code=launcher),
    )

    [death] = deaths_of(run)
    found = the_verdict(run)

    assert (death.address, death.exit_code, death.rank) == ("tcp://w3", code, 3)
    assert found.rule == rule
    assert found.subject is not None
    assert found.subject.worker == "tcp://w3"


def test_no_worker_died_where_the_rank_was_the_clients() -> None:
    line = _SIGNAL[0].replace("rank 3", "rank 1")
    run = a_run(*ranks(), *printed((line,)), failed_with(at=10, exit_code=137))

    assert first_rank_exit(run) is not None
    assert deaths_of(run) == ()


def test_a_line_alone_names_no_rank() -> None:
    assert first_rank_exit(a_run(*printed(_STATUS[:4]))) is None
    assert first_rank_exit(a_run(*printed(_STATUS[4:]))) is None

"""What came before a failure, shown by an identity: a key, an address, a process, a path."""

from __future__ import annotations

from typing import Any

import pytest
from dask_blackbox.analyse import Case
from dask_blackbox.analyse.causes import chain_of
from dask_blackbox.finding import Finding
from runs_from_rows import (
    Piece,
    a_death,
    a_failed_task,
    a_graph,
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    raised_in,
    the_verdict,
)

GONE = "tcp://10.0.0.7:40001"
HERE = "tcp://10.0.0.8:40002"
SPILLED = "/scratch/dask-scratch-space/worker-ab/storage/strip-7#0"


def _with(pieces: list[Piece], **more: Any) -> list[Piece]:
    """Return a death whose worker held results."""
    return [
        an_event("worker-removed", GONE, at=9.0, expected=False, processing=[], **more)
        if kind == "event" and row[1] == "worker-removed"
        else (kind, row)
        for kind, row in pieces
    ]


def _run_again(
    message: str, *, lost: int = 2, first: float = 3.0, running: str = "settle-1"
) -> tuple[Finding, list[str]]:
    """Return verdict and chain of a run whose 'book' fails after a worker had died."""
    died = a_death(GONE, exit_code=3, at=9.0, executing=[running])
    run = a_run(
        a_worker(GONE, nanny="tcp://10.0.0.7:40000"),
        a_worker(HERE, nanny="tcp://10.0.0.8:40000", pid=101),
        a_graph(),
        a_task("book-1", worker=GONE, start=first),
        a_task("book-2", worker=GONE, start=first),
        _with(died, lost_computed=lost),
        a_task("book-2", worker=HERE, start=10.0, outcome="finished"),
        raised_in("book-1", an_exception("ValueError", message), at=12.0, worker=HERE),
    )
    found = the_verdict(run)
    return found, [step.text for step in chain_of(Case(run), found)]


def test_a_finished_task_that_ran_again_failed_for_the_death_before() -> None:
    found, chain = _run_again("UNIQUE constraint failed: booked.payment")

    assert (found.rule, found.confidence) == ("worker-exit", "medium")
    assert (found.retry_advice, found.subject.key) == ("code", "book-1")
    assert chain == [
        "A worker died because a task's code exited the process with code 3 while running 'settle'",
        "2 finished tasks ran again",
        "ValueError in 'book': UNIQUE constraint failed: booked.payment",
        "The driver raised ValueError",
    ]
    assert "'book-1' had finished before" in found.cause
    assert "Make the task safe to run again" in found.remedy


@pytest.mark.parametrize(
    "changed",
    [
        {"lost": 0},  # other workers had copies
        {"first": 10.0},  # on a worker that cannot have held it: it was gone
    ],
)
def test_a_task_whose_result_was_not_lost_did_not_run_again(changed: Any) -> None:
    found, chain = _run_again("UNIQUE constraint failed: booked.payment", **changed)

    assert found.rule == "task-exception"
    assert not any("ran again" in step for step in chain)


def test_what_a_task_of_its_kind_had_begun_as_its_worker_died_is_more_likely() -> None:
    found, chain = _run_again("the ledger is locked", running="book-7")

    assert found.rule == "worker-exit"
    assert "did not release what it held" in found.cause
    assert not any("ran again" in step for step in chain)


def test_an_error_that_a_first_execution_cannot_have_made_is_only_less_sure() -> None:
    found, chain = _run_again("rate 7 > 5")

    assert (found.rule, found.confidence) == ("task-exception", "medium")
    assert chain[0] == "ValueError in 'book': rate 7 > 5"
    assert any("had finished before" in each.text for each in found.evidence)


def _named(message: str, *, host: str = "node-1", died: str = GONE) -> Finding:
    """Return the verdict on a run whose driver raised after a worker had died."""
    return the_verdict(
        a_run(
            a_worker(GONE, nanny=None, pid=4711),
            a_worker(HERE, nanny=None, pid=4712, host=host),
            a_graph(),
            a_task("load-1", worker=HERE),
            a_death(died, exit_code=-9, at=9.0, pid=4711),
            failed_with(an_exception("ValueError", message), at=12.0),
        )
    )


@pytest.mark.parametrize(
    "message",
    [
        f"Missing required workers: {{'{GONE}'}}",
        "rank 1 (pid 4711) did not answer",
        "the process id 4711 has left the group",
    ],
)
def test_a_worker_that_an_exception_names_and_that_died_is_the_root(
    message: str,
) -> None:
    found = _named(message)

    assert found.rule == "worker-signalled"
    assert found.subject.worker == GONE
    assert found.before[0].at is not None
    assert found.title.startswith("A worker died")
    assert f"ValueError in the driver: {message[:12]}" in found.title
    assert "which is that worker's" in found.cause


def test_a_worker_that_an_exception_does_not_name_is_no_root() -> None:
    assert _named(f"Missing required workers: {{'{HERE}'}}").before == ()
    assert _named("rank 1 (pid 4712) did not answer").before == ()
    assert _named("4711 rows are left").before == ()
    assert _named("process 4711 rows first").before == ()
    assert _named(f"{GONE} and {HERE} differ").before == ()


def test_the_process_of_another_host_may_have_the_same_id() -> None:
    found = _named("rank 1 (pid 4711) did not answer", host="node-2")

    assert found.rule == "driver-exception"


def _missing(*more: Piece, owner: str = HERE, path: str = SPILLED) -> Finding:
    added = an_event(
        "worker-added", owner, at=1.0, name="w", nthreads=1,
        local_directory="/scratch/dask-scratch-space/worker-ab",
    )  # fmt: skip
    error = an_exception("FileNotFoundError", f"No such file or directory: '{path}'")
    elsewhere = "No such file or directory: '/scratch/worker-cd/storage/strip-9#0'"
    others = [a_failed_task("one-9", "FileNotFoundError", elsewhere, worker="tcp://w2")]
    return the_verdict(
        a_run(
            added, a_worker("tcp://w2"), a_graph(), *others, *more,
            raised_in("one-1", error, at=12.0, worker=HERE),
        )
    )  # fmt: skip


def test_spilled_results_that_nobody_is_known_to_have_deleted_were_deleted() -> None:
    found = _missing()

    assert found.title.startswith(
        "Spilled results were deleted from the local directory of a worker; then "
        "FileNotFoundError in 'one'"
    )
    assert found.retry_advice == "environment"
    assert "/scratch/dask-scratch-space/worker-ab/storage/" in found.cause
    assert "systemd-tmpfiles" in found.remedy


def test_a_line_that_deleted_them_is_named_instead() -> None:
    removed = an_event(
        "file-removed", "driver", at=8.0, pid=1, path=SPILLED.rpartition("/")[0],
        action="removed", file="/job.py", line=9, function="clean",
    )  # fmt: skip

    assert "Spilled results" not in _missing(removed).title


def test_a_worker_that_closes_removes_its_own_folder() -> None:
    closing = an_event("worker-closing", HERE, at=11.9, reason="worker-close")

    assert "Spilled results" not in _missing(closing).title


@pytest.mark.parametrize(
    "other",
    [
        {"owner": "tcp://w3"},
        {"path": "/scratch/dask-scratch-space/worker-ab/own.csv"},
    ],
)
def test_a_path_of_another_worker_or_of_the_job_was_not_spilled(
    other: dict[str, str],
) -> None:
    assert "Spilled results" not in _missing(**other).title

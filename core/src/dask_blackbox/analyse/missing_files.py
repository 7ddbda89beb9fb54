"""The files that a failed task worked on, as its arguments name them, and those it did not find."""

from __future__ import annotations

from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.events import (
    DriverAttached,
    FailedTaskFiles,
    ProcessAncestors,
    WorkerAdded,
    WorkerRemoved,
)
from dask_blackbox.formatting import short
from dask_blackbox.run_tables import RunTables


def files_of_task(run: RunTables, key: str) -> FailedTaskFiles | None:
    """Return what is recorded of the files of a task that failed, or None."""
    reported = (each for each in run.of(FailedTaskFiles) if each.subject == key)
    return next(reported, None)


def one_file(files: FailedTaskFiles | None) -> str | None:
    """Return the one file that a task worked on; None if there was none, or several."""
    if files is None:
        return None
    worked_on = files.reads or files.inputs
    return worked_on[0] if len(worked_on) == 1 else None


def files_clause(files: FailedTaskFiles | None) -> str:
    """Return a clause for a sentence: `while reading s3://shop/part-17.csv`."""
    if files is None:
        return ""
    clauses = (
        _clause("while reading", files.reads),
        _clause("while writing", files.writes),
        _clause("on data from", files.inputs),
    )
    return ", ".join(clause for clause in clauses if clause)


def _clause(verb: str, files: tuple[str, ...]) -> str:
    if not files:
        return ""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{verb} {short(files[0], 200)}{more}"


def remedy_for_missing_file(run: RunTables, failure: TaskFailure, file: str) -> str:
    """Return what to do about a file that a task did not find."""
    if "/" not in file and "." not in file:
        return "If that is a program, install it where this ran; else check the path."
    if not file.startswith(("/", "~", "\\")) and ":" not in file[:12]:
        return (
            "A relative path depends on the working directory of the process, which a worker "
            "does not share with the driver: use an absolute one."
        )
    owner = _worker_of_folder(run, file)
    if owner is not None and owner.subject != failure.worker:
        left = any(each.subject == owner.subject for each in run.of(WorkerRemoved))
        gone = "which had left: Dask removes it then" if left else "another worker"
        return (
            f"The path is in the local directory of worker {owner.subject}, {gone}. Write "
            "what other tasks need to shared storage, or return it."
        )
    if _is_on_the_drivers_host(run, failure.worker):
        return (
            "The worker runs on the driver's host, so storage that is not shared is not the "
            "reason: check what was to write this file, and whether something removed or "
            "renamed it during the run."
        )
    return "Check that the path exists where this ran: workers need shared storage."


def _worker_of_folder(run: RunTables, file: str) -> WorkerAdded | None:
    """Return the worker in whose local directory a path lies."""
    return next(
        (
            each
            for each in run.of(WorkerAdded)
            if each.local_directory and file.startswith(f"{each.local_directory}/")
        ),
        None,
    )


def _is_on_the_drivers_host(run: RunTables, worker: str | None) -> bool:
    drivers = {each.boot for each in run.of(DriverAttached)} - {None}
    workers = {
        each.boot for each in run.of(ProcessAncestors) if each.subject == worker
    } - {None}
    return bool(workers) and workers <= drivers

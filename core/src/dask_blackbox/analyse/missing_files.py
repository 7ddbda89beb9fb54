"""A file that was not found: where it should have been, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from dask_blackbox.analyse.facts.managers import on_drivers_host
from dask_blackbox.events import (
    DriverAttached,
    MissingFile,
    WorkerAdded,
    WorkerRemoved,
)
from dask_blackbox.formatting import short_with_paths
from dask_blackbox.run_tables import RunTables


def missing_file_of(run: RunTables, subject: str, text: str) -> MissingFile | None:
    """Return the last file that was missing and that an exception names.

    Args:
        run: The run.
        subject: `driver`, or the key of the task.
        text: The exception's message and traceback.
    """
    reported = [
        each
        for each in run.of(MissingFile)
        if each.subject == subject and Path(each.path).name in text
    ]
    return reported[-1] if reported else None


def is_of_this_run(run: RunTables, found: MissingFile) -> bool:
    """Return whether something wrote to or removed from a missing file's folder in the run."""
    return found.exists or (found.changed or 0.0) >= run.manifest.started


def what_to_check(run: RunTables, found: MissingFile) -> str:
    """Return what to do, from how the folder of a missing file looked; empty: it tells nothing."""
    if found.exists:
        return "Have the task that reads the file depend on the one that writes it."
    folder = short_with_paths(found.folder, 100)
    if (
        found.changed is None
        or found.with_driver
        or (found.relative and str(Path(found.path).parent) != found.folder)
    ):
        return ""  # the working directory is another one than was meant
    if is_of_this_run(run, found):
        return (
            f"Something wrote to or removed from {folder} during the run: check what "
            "should have written this file there, and what removes files."
        )
    return (
        f"Nothing in this run changed {folder}: check what should have delivered the file "
        "before the run, and whether its path is right."
    )


def remedy_for_missing_file(
    run: RunTables, file: str, *, subject: str | None, worker: str | None = None
) -> str:
    """Return what to do about a file that was not found.

    Args:
        run: The run.
        file: As the exception names it.
        subject: `driver`, or the key of the task; None: a task that is not known.
        worker: Address of the task's worker, if it is known.
    """
    by_driver = subject == "driver"
    if "/" not in file and "." not in file:
        return (
            "If that is a program, install it where this ran. Otherwise check the path."
        )
    if not file.startswith(("/", "~", "\\")) and ":" not in file[:12]:
        return _relative_path(run, by_driver=by_driver)
    owner = worker_of_folder(run, file)
    if owner is not None and (by_driver or owner.subject != worker):
        return _in_folder_of_worker(run, owner)
    found = missing_file_of(run, subject or "", file)
    to_check = "" if found is None else what_to_check(run, found)
    if by_driver:
        return to_check or "Check that the path exists where the driver runs."
    # Of one that had come just then, the order is wrong, wherever it is.
    elsewhere = not on_drivers_host(run, worker) and (found is None or not found.exists)
    return _of_task(
        to_check, elsewhere=elsewhere, who="worker" if worker else "workers"
    )


def _of_task(to_check: str, *, elsewhere: bool, who: str) -> str:
    """Return what to do about a file that a task did not find.

    Args:
        to_check: What its folder tells to do; may be empty.
        elsewhere: It may exist on another host.
        who: The workers that are meant.
    """
    if not elsewhere:
        return to_check or (
            f"The {who} {'runs' if who == 'worker' else 'run'} on the driver's host, so "
            "missing shared storage is not the reason. Check what should have written this "
            "file, and whether something removed or renamed it during the run."
        )
    if to_check:
        return f"{to_check} If it exists where the driver runs, workers need shared storage."
    return "Check that the path exists where this ran: workers need shared storage."


def _relative_path(run: RunTables, *, by_driver: bool) -> str:
    if not by_driver:
        return (
            "A relative path depends on the working directory of the process, which a worker "
            "does not share with the driver: use an absolute one."
        )
    here = next((each.cwd for each in run.of(DriverAttached) if each.cwd), None)
    began = f", which began in {short_with_paths(here, 100)}" if here else ""
    return (
        "A relative path depends on the working directory of the driver"
        f"{began}: use an absolute one."
    )


def _in_folder_of_worker(run: RunTables, owner: WorkerAdded) -> str:
    left = any(each.subject == owner.subject for each in run.of(WorkerRemoved))
    gone = ", which had left: Dask removes it then" if left else ""
    return (
        f"The path is in the local directory of worker {owner.subject}{gone}. Write "
        f"what other processes need to {storage_of_workers(run)}, or return it."
    )


def storage_of_workers(run: RunTables) -> str:
    """Return where all workers of a run can read what one of them has written."""
    return "another folder" if on_drivers_host(run) else "shared storage"


def worker_of_folder(run: RunTables, text: str) -> WorkerAdded | None:
    """Return the worker in whose local directory a path lies that a text names."""
    return next(
        (
            each
            for each in run.of(WorkerAdded)
            if each.local_directory and f"{each.local_directory}/" in text
        ),
        None,
    )

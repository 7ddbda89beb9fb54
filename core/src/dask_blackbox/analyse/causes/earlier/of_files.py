"""What explains that a file was missing: who had removed it, or what its folder looked like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import Earlier
from dask_blackbox.analyse.missing_files import (
    is_of_this_run,
    missing_file_of,
    what_to_check,
    worker_of_folder,
)
from dask_blackbox.analyse.retry_advice import Advice
from dask_blackbox.analyse.side_effects import removed_files
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.python import LEAKED_SHARED_MEMORY
from dask_blackbox.analyse.wording import words_of_files
from dask_blackbox.events import (
    DirectoryChange,
    FileRemoved,
    MissingFile,
    WorkerRemoved,
)
from dask_blackbox.finding import Finding
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import epoch

_ABSENT = bounded(r"No such file|does not exist|not found", re.IGNORECASE)
_SHARED_MEMORY = "/dev/shm/"  # noqa: S108 - where Linux has it
_OF_CODE = Advice("code", "medium")


def removals(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what had removed the file that was missing: a line of code, or its worker's end."""
    failure = case.blame.failure
    at = case.outcome.decided_at if failure is None else failure.at
    if at is None:
        return
    message = "" if case.exception is None else case.exception.message
    text = f"{verdict.title} {message}" if failure is None else failure.message
    before = [each for each in removed_files(case, text) if each.at <= at]
    if before:
        yield _removal(case, max(before, key=lambda each: each.at), at)
    elif _ABSENT.search(text):
        yield from _removals_of_folder(case, text, at)


def _removal(case: Case, removed: FileRemoved, missed: float) -> Earlier:
    return Earlier(
        at=removed.at,
        words=words_of_files.of_removed_file(case, removed, missed),
        message=f"{removed.action} {removed.path}",
        source=_source_of(removed.subject),
        grade="certain",
        advice=_OF_CODE,
    )


def _source_of(subject: str) -> str:
    """Return the source of evidence on what the code of the driver, or of a task, did."""
    return "driver" if subject == "driver" else "tasks"


def _removals_of_folder(case: Case, text: str, missed: float) -> Iterator[Earlier]:
    """Yield the departure of the worker in whose local directory a missing file was."""
    owner = worker_of_folder(case.run, text)
    left = None if owner is None else _departure(case, owner.subject, missed)
    if owner is None or left is None:
        return
    yield Earlier(
        at=left.at,
        words=words_of_files.of_removed_folder(case, owner, left, missed),
        message=f"removed {owner.local_directory}",
        source="events",
        # That Dask removed the directory is not recorded, only that the worker closed.
        grade="proved",
        advice=_OF_CODE,
    )


def _departure(case: Case, worker: str, until: float) -> WorkerRemoved | None:
    """Return how a worker had left on request before a moment, if it had."""
    removed = (each for each in case.run.of(WorkerRemoved) if each.subject == worker)
    return next((each for each in removed if each.expected and each.at < until), None)


def missing_files(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what explains the missing file that ended the run: first what led there.

    A folder that did not change during the run had never held the file: nothing in the run
    removed it.  Of one that did, it is not known what wrote or removed there.
    """
    found = _missing_file(case)
    if found is None:
        return
    if found.moved is not None and found.moved.exists:
        yield _change_of_directory(case, found, found.moved)
        return
    if found.path.startswith(_SHARED_MEMORY):
        yield from _ends_of_trackers(case, found)
    if found.changed is not None:
        yield _folder(case, found)


def _missing_file(case: Case) -> MissingFile | None:
    """Return the last file that was missing and that what ended the run names."""
    failure = case.blame.failure
    subject = "driver" if failure is None else failure.key
    exception = case.exception if failure is None else failure
    text = "" if exception is None else f"{exception.message} {exception.traceback}"
    return missing_file_of(case.run, subject, text)


def _change_of_directory(
    case: Case, found: MissingFile, moved: DirectoryChange
) -> Earlier:
    """Return the change of the working directory from which a relative path was meant."""
    return Earlier(
        at=moved.at,
        words=words_of_files.of_changed_directory(case, found, moved),
        message=f"changed: {moved.before}",
        source=_source_of(moved.subject),
        grade="certain",
        advice=_OF_CODE,
    )


def _ends_of_trackers(case: Case, found: MissingFile) -> Iterator[Earlier]:
    """Yield the end of the process that had removed the shared memory that it had opened."""
    logs = lines_of(case.run, LEAKED_SHARED_MEMORY).filter(epoch("at") <= found.at)
    for row in logs.head(1).iter_rows(named=True):
        line = case.line_evidence(row)
        yield Earlier(
            at=row["at"].timestamp(),
            words=words_of_files.of_removed_memory(line.text),
            message=row["message"],
            source=line.source,
            see=line.see,
            grade="proved",
            advice=_OF_CODE,
        )


def _folder(case: Case, found: MissingFile) -> Earlier:
    """Return what the folder of a missing file looked like."""
    during = is_of_this_run(case.run, found)
    return Earlier(
        at=found.at,
        words=words_of_files.of_folder(found, what_to_check(case.run, found)),
        message=f"missing {found.path}",
        source=_source_of(found.subject),
        grade="possible" if during and not found.with_driver else "certain",
    )

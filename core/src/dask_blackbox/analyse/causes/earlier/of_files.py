"""What explains that a file was missing: who had removed it, or what its folder looked like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import Earlier
from dask_blackbox.analyse.retry_advice import Advice
from dask_blackbox.analyse.side_effects import (
    code_owner,
    how_retired,
    removed_files,
    worker_of_folder,
)
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.python import LEAKED_SHARED_MEMORY
from dask_blackbox.events import (
    DirectoryChange,
    FileRemoved,
    MissingFile,
    WorkerRemoved,
)
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import (
    capital,
    code_line,
    counted,
    duration,
    moment,
    short_with_paths,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import epoch

_ABSENT = bounded(r"No such file|does not exist|not found", re.IGNORECASE)
_LONG_AGO = 3_600.0
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
    who = code_owner(case, removed.subject)
    place = code_line(removed) or f"the code of {who}"
    name = code_line(removed, name_only=True) or place
    what = short_with_paths(removed.path, 80)
    by_driver = removed.subject == "driver"
    return Earlier(
        at=removed.at,
        text=f"{capital(who)} {removed.action} {what}, at {place}.",
        message=f"{removed.action} {removed.path}",
        source=_source_of(removed.subject),
        headline=f"{name if by_driver else capital(who)} {removed.action} {what}",
        grade="certain",
        advice=_OF_CODE,
        account=(
            f"{capital(who)} had {removed.action} {what} {missed - removed.at:.1f} s before, "
            f"at {place} in {removed.function}."
        ),
        fix=(
            f"Look at {place}: remove or rename files only once all tasks that read them are "
            "done." + ("" if by_driver else " Make this task depend on them.")
        ),
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
    who, how = case.name_of(owner.subject), how_retired(case, left)
    name = f"worker {owner.name}" if owner.name else who
    yield Earlier(
        at=left.at,
        text=f"{capital(who)} was {how}; its local directory was {owner.local_directory}.",
        message=f"removed {owner.local_directory}",
        source="events",
        headline=f"{capital(name)} was {how}, and its local directory was removed",
        # That Dask removed the directory is not recorded, only that the worker closed.
        grade="proved",
        advice=_OF_CODE,
        account=(
            f"{capital(who)} had been {how} {duration(missed - left.at)} before; Dask removes "
            "the local directory of a worker that closes, and the path is in it."
        ),
        fix=(
            "Write what other tasks need to shared storage, or return it: a worker's local "
            "directory exists only as long as the worker."
        ),
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
        yield _folder(case, found, found.changed)


def _missing_file(case: Case) -> MissingFile | None:
    """Return the last file that was missing and that what ended the run names."""
    failure = case.blame.failure
    subject = "driver" if failure is None else failure.key
    exception = case.exception if failure is None else failure
    text = "" if exception is None else f"{exception.message} {exception.traceback}"
    reported = [
        each
        for each in case.run.of(MissingFile)
        if each.subject == subject and Path(each.path).name in text
    ]
    return reported[-1] if reported else None


def _change_of_directory(
    case: Case, found: MissingFile, moved: DirectoryChange
) -> Earlier:
    """Return the change of the working directory from which a relative path was meant."""
    who = capital(code_owner(case, moved.subject))
    place = code_line(moved) or f"the code of {code_owner(case, moved.subject)}"
    gone = "" if moved.now else ", which has been removed"
    now = f" to {moved.now}" if moved.now else " to another"
    return Earlier(
        at=moved.at,
        text=(
            f"{who} changed the working directory at {place}; "
            f"{short_with_paths(found.path, 80)} exists in the previous one, {moved.before}."
        ),
        message=f"changed directory from {moved.before}",
        source=_source_of(moved.subject),
        headline=f"{who} changed the working directory",
        grade="certain",
        advice=_OF_CODE,
        account=(
            f"{who} had changed the working directory of the process from "
            f"{moved.before}{now}{gone}, at {place}. The path is relative, and the "
            "file exists in the previous directory."
        ),
        fix=(
            f"Look at {place}: the working directory belongs to the whole process, "
            "which runs other tasks, too. Use absolute paths instead of `os.chdir`."
        ),
    )


def _ends_of_trackers(case: Case, found: MissingFile) -> Iterator[Earlier]:
    """Yield the end of the process that had removed the shared memory that it had opened."""
    logs = lines_of(case.run, LEAKED_SHARED_MEMORY).filter(epoch("at") <= found.at)
    for row in logs.head(1).iter_rows(named=True):
        line = case.line_evidence(row)
        yield Earlier(
            at=row["at"].timestamp(),
            text=line.text,
            message=row["message"],
            source=line.source,
            see=line.see,
            headline=(
                "A Python process that ended removed the shared memory that it had opened"
            ),
            grade="proved",
            advice=_OF_CODE,
            account=(
                "A Python process that ended had removed the shared memory that it had "
                "opened: its resource tracker removes memory that it considers leaked, even "
                "if the process had only attached to it."
            ),
            fix=(
                "Keep processes that attach to the memory running for as long as others need "
                "it, or attach with `SharedMemory(…, track=False)` (Python 3.13) or "
                "`resource_tracker.unregister`."
            ),
        )


def _folder(case: Case, found: MissingFile, changed: float) -> Earlier:
    """Return what the folder of a missing file looked like."""
    during = found.exists or changed >= case.run.manifest.started
    return Earlier(
        at=found.at,
        text=_surroundings(found),
        message=f"missing {found.path}",
        source=_source_of(found.subject),
        grade="possible" if during and not found.with_driver else "certain",
        fix=_what_to_check(found, during=during),
    )


def _surroundings(found: MissingFile) -> str:
    """Return sentences on where a missing file should have been."""
    path = short_with_paths(found.path, 120)
    if found.exists:
        return (
            f"{path} existed when the recorder checked again right after the error: "
            "something wrote it at that moment."
        )
    folder = short_with_paths(found.folder, 100)
    named = (
        f"The path is relative; for that process it is {path}. "
        if found.relative
        else ""
    )
    if found.with_driver:
        there = short_with_paths(found.with_driver, 120)
        return f"{named}It exists in the driver's working directory: {there}."
    entries = counted(found.entries or 0, "entry", "entries")
    if str(Path(found.path).parent) != found.folder:
        where = (
            f"Its folder does not exist; {folder}, the nearest existing folder above "
            f"it, has {entries}"
        )
    else:
        where = f"Its folder {folder} has {entries}"
    ago = found.at - (found.changed or found.at)
    when = f"{duration(max(ago, 0.0))} before the error"
    if ago > _LONG_AGO:
        when = f"at {moment(found.changed or found.at)}"
    return f"{named}{where} and was last changed {when}."


def _what_to_check(found: MissingFile, *, during: bool) -> str:
    if found.exists:
        return "Have the task that reads the file depend on the one that writes it."
    folder = short_with_paths(found.folder, 100)
    if found.with_driver or (
        found.relative and str(Path(found.path).parent) != found.folder
    ):
        return ""  # the working directory is another one than was meant
    if during:
        return (
            f"Something wrote to or removed from {folder} during the run: check what "
            "should have written this file there, and what removes files."
        )
    return (
        f"Nothing in this run changed {folder}: check what should have delivered the file "
        "before the run, and whether its path is right."
    )

"""Words for why a file was missing."""

from __future__ import annotations

from pathlib import Path

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.missing_files import storage_of_workers
from dask_blackbox.analyse.side_effects import code_owner, how_retired
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.events import (
    DirectoryChange,
    FileRemoved,
    MissingFile,
    WorkerAdded,
    WorkerRemoved,
)
from dask_blackbox.formatting import (
    capital,
    code_line,
    counted,
    duration,
    moment,
    short_with_paths,
)

_LONG_AGO = 3_600.0


def of_removed_file(case: Case, removed: FileRemoved, missed: float) -> Words:
    """Return the words for code that removed a file.

    Args:
        missed: When the file was missing.
    """
    who = code_owner(case, removed.subject)
    place = code_line(removed) or f"the code of {who}"
    what, by = short_with_paths(removed.path, 80), capital(who)
    by_driver = removed.subject == "driver"
    if by_driver:
        by = code_line(removed, name_only=True) or place
    return Words(
        text=f"{capital(who)} {removed.action} {what}, at {place}.",
        headline=f"{by} {removed.action} {what}",
        account=(
            f"{capital(who)} had {removed.action} {what} {missed - removed.at:.1f} s before, "
            f"at {place} in {removed.function}."
        ),
        fix=(
            f"Look at {place}: remove or rename files only once all tasks that read them are "
            "done." + ("" if by_driver else " Make this task depend on them.")
        ),
    )


def of_removed_folder(
    case: Case, owner: WorkerAdded, left: WorkerRemoved, missed: float
) -> Words:
    """Return the words for a worker with whose departure its local directory was removed.

    Args:
        owner: The worker.
        left: Its departure.
        missed: When the file was missing.
    """
    who, how = case.name_of(owner.subject), how_retired(case, left)
    name = f"worker {owner.name}" if owner.name else who
    return Words(
        text=f"{capital(who)} was {how}; its local directory was {owner.local_directory}.",
        headline=f"{capital(name)} was {how}, and its local directory was removed",
        account=(
            f"{capital(who)} had been {how} {duration(missed - left.at)} before; Dask removes "
            "the local directory of a worker that closes, and the path is in it."
        ),
        fix=(
            f"Write what other tasks need to {storage_of_workers(case.run)}, or return it: a "
            "worker's local directory exists only as long as the worker."
        ),
    )


def of_changed_directory(
    case: Case, found: MissingFile, moved: DirectoryChange
) -> Words:
    owner = code_owner(case, moved.subject)
    who, place = capital(owner), code_line(moved) or f"the code of {owner}"
    now = f" to {moved.now}" if moved.now else " to another, which has been removed"
    return Words(
        text=(
            f"{who} changed the working directory at {place}; "
            f"{short_with_paths(found.path, 80)} exists in the previous one, {moved.before}."
        ),
        headline=f"{who} changed the working directory",
        account=(
            f"{who} had changed the working directory of the process from "
            f"{moved.before}{now}, at {place}. The path is relative, and the "
            "file exists in the previous directory."
        ),
        fix=(
            f"Look at {place}: the working directory belongs to the whole process, "
            "which runs other tasks, too. Use absolute paths instead of `os.chdir`."
        ),
    )


def of_removed_memory(line: str) -> Words:
    """Return the words for shared memory that a process removed as it ended.

    Args:
        line: What it printed then.
    """
    return Words(
        text=line,
        headline="A Python process that ended removed the shared memory that it had opened",
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


def of_folder(found: MissingFile, to_check: str) -> Words:
    """Return the words for what the folder of a missing file looked like.

    Args:
        to_check: What to do about it, in sentences; may be empty.
    """
    return Words(text=_surroundings(found), fix=to_check)


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

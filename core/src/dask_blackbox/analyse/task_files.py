"""The files that a failed task was reading or writing, as its arguments name them."""

from __future__ import annotations

from dask_blackbox.events import FailedTaskFiles
from dask_blackbox.formatting import short
from dask_blackbox.run_tables import RunTables

__all__ = ["files_clause", "files_of_task", "one_file"]


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

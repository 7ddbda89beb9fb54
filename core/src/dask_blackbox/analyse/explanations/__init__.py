"""Messages of libraries, explained: the thing that they are about, and the fix as code."""

from __future__ import annotations

from dask_blackbox.analyse.driver_output import last_error_before
from dask_blackbox.analyse.explanations import arrow, frames, services
from dask_blackbox.analyse.explanations.explained import Context, Explained, in_one_line
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import user_frames
from dask_blackbox.analyse.missing_files import files_of_task, one_file
from dask_blackbox.analyse.replaced_exceptions import untangled
from dask_blackbox.analyse.signatures.python import PROGRAM_FAILED
from dask_blackbox.manifest import DriverException
from dask_blackbox.run_tables import RunTables

_JUST_NOW = 1.0  # seconds that a line of a failed program is older than its exception


def explained_failure(run: RunTables, failure: TaskFailure) -> Explained | None:
    """Return what the exception of a task means, or None."""
    name, message, _ = failure.raised
    program = PROGRAM_FAILED.search(message)
    return explained(
        Context(
            exception=name,
            message=message,
            traceback=failure.traceback,
            file=one_file(files_of_task(run, failure.key)),
            printed=program and last_error_before(run, failure.at, within=_JUST_NOW),
        )
    )


def words_of_failure(run: RunTables, failure: TaskFailure) -> str:
    """Return what a task's exception says, in one line."""
    reported = explained_failure(run, failure)
    return reported.headline if reported else in_one_line(failure.raised.message)


def explained_exception(exception: DriverException) -> Explained | None:
    """Return what the driver's exception means, or None."""
    name, message, _ = untangled(exception.exception, exception.message)
    return explained(
        Context(exception=name, message=message, traceback=exception.traceback)
    )


def words_of_exception(exception: DriverException, message: str) -> str:
    """Return what the driver's exception says, in one line.

    Args:
        message: Its text, as far as it is to be shown.
    """
    reported = explained_exception(exception)
    return reported.headline if reported else in_one_line(message)


def called(failure: TaskFailure) -> str:
    """Return what people call a task: the user's own function rather than Dask's fused name."""
    prefix = failure.prefix
    own = [frame.function for frame in user_frames(failure.own_traceback)]
    names = [name for name in own if not name.startswith("<")]
    if not names or prefix in names:
        return prefix
    return names[0]


_ALL = (
    *services.OF_PROGRAMS,
    *frames.EXPLANATIONS,
    *arrow.EXPLANATIONS,
    *services.EXPLANATIONS,
)


def explained(context: Context) -> Explained | None:
    """Return what a message means; None if it is of no kind that is known."""
    for signature, explain in _ALL:
        found = signature.search(context.message)
        reported = None if found is None else explain(found, context)
        if reported is not None:
            return reported
    return None


__all__ = [
    "Context",
    "Explained",
    "called",
    "explained",
    "explained_exception",
    "explained_failure",
    "in_one_line",
    "words_of_exception",
    "words_of_failure",
]

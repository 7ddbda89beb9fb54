"""Follows the errors that the driver handled, through its source, to where the driver ended.

A job that handles an error may still end because of it: the handler adds a name to a list, and
another line exits if the list is not empty.  No exception links the two; the statements do.
This package parses the user's files in which errors were handled, and follows the names that a
handler changes and those that the failed statements were to set, through assignments, conditions,
arguments and returned values, up to the statement that ended the driver and the conditions that
it is under.

It follows names and not values, so it finds too much rather than too little: that an error did
not lead to the end is the surer answer.  It runs in the user's process as that ends, for a second
at most, because nothing of a source may leave the process but which errors these are.  A process
that its host has asked to end may be killed within seconds, so it is left out there, unless
`blackbox.capture.follow-errors` is true.
"""

from __future__ import annotations

from types import FrameType, TracebackType

from dask_blackbox.settings import setting

from . import ends
from .cleanup import raised_in_cleanup
from .ends import PossibleExit

__all__ = ["PossibleExit", "errors_behind", "possible_exits", "raised_in_cleanup"]


def errors_behind(
    end: FrameType | TracebackType | None,
    code: int | None = None,
    *,
    stopped: bool = False,
) -> dict[str, list[str]]:
    """Return which of the errors that the driver handled led to its end, if that is asked for.

    Args:
        end: The frame that ends the driver, or the traceback of the exception that does.
        code: The exit code, if the driver ends with one.
        stopped: The driver did not end by itself: its host or a person has asked it to end,
            and may kill it.

    Returns:
        Ids of errors: `related_errors`, of which the handlers' own doing led to the end, and
        `missed_results`, where what the failed statements were to set led to it; and
        `unrelated_errors`, which nothing ties to it.  Of those in no list, nothing is known.
    """
    return (
        ends.errors_behind(end, code)
        if _is_on(stopped=stopped)
        else ends.nothing_known()
    )


def possible_exits() -> list[PossibleExit]:
    """Return where the user's code may have ended the driver by raising `SystemExit`."""
    return ends.possible_exits() if _is_on(stopped=False) else []


def _is_on(*, stopped: bool) -> bool:
    """Return the setting, or whether the process may take its time."""
    given = setting("capture.follow-errors")
    return not stopped if given is None else given

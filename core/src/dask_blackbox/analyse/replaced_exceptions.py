"""What was raised, where another exception arrived in its place.

Dask sends a plain `Exception` that quotes what cannot be pickled, and cuts long messages.
Groups hold what was raised.  And Dask's client listens for `Exception` alone: of what is none,
such as asyncio's `CancelledError`, it loses even that something was raised.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from dask_blackbox.analyse.frames import last_frame, members_of_group
from dask_blackbox.analyse.signatures.distributed import LONG_MESSAGE_CUT
from dask_blackbox.formatting import class_of
from dask_blackbox.manifest import DriverException

_QUOTED = re.compile(r"^(?P<name>[A-Z]\w*)\((?P<text>.*)\)$", re.DOTALL)
_CLIENT = "distributed/utils.py"
_END = re.compile(r"['\"]\)$")
_ESCAPED = {"\\n": "\n", "\\t": "\t", "\\'": "'", '\\"': '"', "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[nt'\"\\]")


class Raised(NamedTuple):
    """Name of the class that was raised, its message, and what became of it on the way.

    Attributes:
        name: Bare name of the class.
        message: Its text, as far as it arrived.
        how: `quoted` in a plain exception, as it cannot be pickled; `cut`, as it is long;
            `unprintable`, as its own text raised the exception that arrived.
    """

    name: str
    message: str
    how: Literal["", "quoted", "cut", "unprintable"] = ""


def untangled(qualified: str, message: str) -> Raised:
    """Return what was raised, of what arrived.

    Args:
        qualified: Name of the class that arrived, with its module.
    """
    name = class_of(qualified)
    cut = LONG_MESSAGE_CUT.match(message)
    if cut is not None:
        text = _ESCAPE.sub(lambda found: _ESCAPED[found[0]], _END.sub("", cut["text"]))
        return Raised(class_of(cut["name"] or name), text, "cut")
    quoted = _QUOTED.match(message) if name == "Exception" else None
    if quoted is not None:
        return Raised(quoted["name"], quoted["text"].strip("'\""), "quoted")
    return Raised(name, message)


def classes_of(exception: DriverException) -> tuple[str, ...]:
    """Return the classes of an exception, of its chain, and of the members of groups."""
    members = (name for name, _ in members_of_group(exception.traceback))
    return (exception.exception, *exception.chain, *members)


def lost_by_client(exception: DriverException) -> bool:
    """Say whether Dask's client came back without a result and without an exception.

    That is what is left of an exception that is no `Exception`.
    """
    if class_of(exception.exception) != "UnboundLocalError":
        return False
    at = last_frame(exception.traceback)
    return at is not None and (at.file.endswith(_CLIENT) and at.function == "sync")

"""What Dask's tasks raised on Ray (`ray.util.dask`).

Ray raises an exception of its own in the driver, of which the message is the text of the one
that the task raised, with the traceback from Ray's worker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from dask_blackbox.analyse.frames import user_frame
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded

_RAYS = "ray.exceptions."
_COLOUR = bounded(r"\x1b\[\d{0,3}m")
_HEAD = bounded(
    r"^(?P<by>[\w.]{1,100}: )?ray::dask:(?P<key>[^\n]{1,400})\(\) \(pid=[^)\n]{1,100}\)$",
    re.MULTILINE,
)
"""What stands before the traceback of each task, that of a dependent before its dependency's."""
_INPUT = "At least one of the input arguments for this task could not be computed"
_RAISED = bounded(r"^(?P<name>[\w.]{1,200})(?:: (?P<message>.*))?$", re.DOTALL)
_CALLS_RAY = bounded(r'^  File "[^"\n]{1,400}/ray/util/dask/', re.MULTILINE)
_HEADER = "Traceback (most recent call last):\n"


@dataclass(frozen=True, kw_only=True)
class RayFailure:
    """A task of Dask that failed on Ray.

    Attributes:
        key: Its key; empty: Ray does not name it.
        exception: What it raised, as if it had been raised in the driver.
        by_ray: Whether Ray itself, and no code of the task, says that it failed.
    """

    key: str
    exception: DriverException
    by_ray: bool


def failure_on_ray(exception: DriverException | None) -> RayFailure | None:
    """Return the task that failed on Ray, of what Ray raised in the driver; None: it is another."""
    if exception is None or not exception.exception.startswith(_RAYS):
        return None
    calls_ray = _CALLS_RAY.search(exception.traceback)
    if calls_ray is None:  # the job uses Ray by itself
        return None
    text = _COLOUR.sub("", exception.message)
    heads = list(_HEAD.finditer(text))
    if not heads:
        return RayFailure(key="", exception=exception, by_ray=True)
    frames, raised = _divided(text[heads[-1].end() :])
    found = _RAISED.match(raised)
    if found is None:
        return None
    name, message = found["name"], found["message"] or ""
    # Ray names the task that waited for the result, not the one whose worker was lost.
    key = "" if _INPUT in frames else heads[-1]["key"]
    trace = exception.traceback[: calls_ray.start()] or _HEADER
    trace = f"{trace}{frames}{raised}\n"
    bases = tuple(each for each in exception.bases if not each.startswith(_RAYS))
    made = msgspec.structs.replace(
        exception,
        exception=name,
        message=message,
        traceback=trace,
        bases=bases or (name,),
        chain=(name,),
        key=key or None,
        **_place_in(trace),
    )
    return RayFailure(key=key, exception=made, by_ray=name.startswith(_RAYS))


def raised_by_task(exception: DriverException | None) -> DriverException | None:
    """Return what a task raised on Ray; anything else as it is."""
    failure = failure_on_ray(exception)
    return exception if failure is None else failure.exception


def _place_in(trace: str) -> dict[str, Any]:
    """Return the user's own line that raised, as `DriverException` has it; nothing: none did."""
    own = user_frame(trace)
    if own is None:
        return {}
    return {"file": own.file, "line": own.line, "function": own.function}


def _divided(text: str) -> tuple[str, str]:
    """Return the lines of a traceback, and those of the exception that follow it."""
    lines = text.strip("\n").splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.strip() and not line.startswith(" "):
            return "".join(lines[:number]), "".join(lines[number:]).strip()
    return "".join(lines), ""

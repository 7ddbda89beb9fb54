"""For what of Dask's a driver waited while no task was wanted, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox.analyse.driver_position import DriverPosition

__all__ = ["Wait", "awaited"]


class Wait(NamedTuple):
    """For what a driver waited, why that is in vain, and what to do."""

    what: str
    because: str
    remedy: str


_IN_RUN = Wait(
    "inside of `client.run`",
    "`client.run` sends no task, and its function did not return on at least one "
    "worker",
    "find what that function waits for. It blocks the worker's event loop, heartbeats "
    "included: add a timeout, or submit it as a task.",
)
_OF_AN_ACTOR = Wait(
    "for a method of an actor",
    "actor methods are not tasks, and this one did not return",
    "find what that method waits for. An actor's methods run one at a time on its "
    "worker; add a timeout to whatever they wait for.",
)


def awaited(position: DriverPosition) -> Wait | None:
    """Return for what of Dask's the driver waited, if it did."""
    if any(frame.file.endswith("distributed/actor.py") for frame in position.beyond):
        return _OF_AN_ACTOR
    if position.shared:
        what, ends = position.shared
        return Wait(
            f"for {what}",
            f"no running task could {ends}",
            f"find the task that should {ends}: did it fail, return early, or use "
            "another name? Add a timeout to the wait.",
        )
    return _IN_RUN if position.in_client("run", "_run") else None

"""For what of Dask's a driver waited while no task was wanted, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox.analyse.standing import Standing

__all__ = ["Wait", "awaited"]


class Wait(NamedTuple):
    """For what a driver waited, why that is in vain, and what to do."""

    what: str
    because: str
    remedy: str


_IN_RUN = Wait(
    "inside of `client.run`",
    "what `client.run` sends is none, and on at least one worker it did not return",
    "what does that function wait for? It runs on the worker's event loop, which does "
    "nothing else meanwhile, not even heartbeats: give what it waits for a timeout, or "
    "submit it as a task.",
)
_OF_AN_ACTOR = Wait(
    "for a method of an actor",
    "an actor's methods are none, and this one did not return",
    "what does that method wait for? An actor's methods run one after another on its "
    "worker; give what they wait for a timeout.",
)


def awaited(stood: Standing) -> Wait | None:
    """Return for what of Dask's the driver waited, if it did."""
    if any(frame.file.endswith("distributed/actor.py") for frame in stood.beyond):
        return _OF_AN_ACTOR
    if stood.shared:
        what, ends = stood.shared
        return Wait(
            f"for {what}",
            f"nobody was at work who could have come to {ends}",
            f"find who was to {ends}: did that task fail, return early, or use another name? "
            "Give the wait a timeout.",
        )
    return _IN_RUN if stood.in_client("run", "_run") else None

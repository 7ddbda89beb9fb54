"""Why a scheduler closes, and who asked for it: Dask writes it into its log, if anywhere.

All recordings of one scheduler share one pair of wrappers, whose notes lie on the
scheduler; the last that leaves takes them off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Awaitable, Callable

if TYPE_CHECKING:
    from distributed import Scheduler

_NOTES = "_dask_blackbox_closing"
_ASKED = "terminate"  # the operation that clients and cluster objects call


def watch_closing(scheduler: Scheduler) -> None:
    """Note from now on why this scheduler closes."""
    notes = scheduler.__dict__.get(_NOTES)
    if notes is None:
        notes = scheduler.__dict__[_NOTES] = {"users": 0}
        _wrap_close(scheduler, notes)
        _wrap_terminate(scheduler, notes)
    notes["users"] += 1


def unwatch_closing(scheduler: Scheduler) -> None:
    """Note it no more, if nobody else wants to know."""
    notes = scheduler.__dict__.get(_NOTES)
    if notes is None:
        return
    notes["users"] -= 1
    if notes["users"] > 0:
        return
    del scheduler.__dict__[_NOTES]
    if scheduler.__dict__.get("close") is notes["close"]:
        del scheduler.__dict__["close"]
    if scheduler.handlers.get(_ASKED) is notes.get("terminate"):
        scheduler.handlers[_ASKED] = notes["terminated"]


def closing_of(scheduler: Scheduler) -> dict[str, str]:
    """Return the `reason` for which a scheduler closes and who asked (`by`), if known."""
    notes = scheduler.__dict__.get(_NOTES) or {}
    return {"reason": notes.get("reason", ""), "by": notes.get("by", "")}


def _wrap_close(scheduler: Scheduler, notes: dict[str, object]) -> None:
    inner: Callable[..., Awaitable[object]] = scheduler.close

    async def close(*args: object, **kwargs: object) -> object:
        reason = kwargs.get("reason", args[1] if len(args) > 1 else "")
        notes.setdefault("reason", str(reason))
        return await inner(*args, **kwargs)

    notes["close"] = scheduler.__dict__["close"] = close


def _wrap_terminate(scheduler: Scheduler, notes: dict[str, object]) -> None:
    inner = scheduler.handlers.get(_ASKED)
    if inner is None:
        return

    # Dask gives the connection to whoever names his first argument so.
    async def terminate(comm: object, **kwargs: object) -> object:
        notes.setdefault("reason", _ASKED)
        notes.setdefault("by", str(getattr(comm, "peer_address", "")))
        return await inner(**kwargs)

    notes["terminated"] = inner
    notes["terminate"] = scheduler.handlers[_ASKED] = terminate

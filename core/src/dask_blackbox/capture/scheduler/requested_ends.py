"""Which workers a cluster object asks this scheduler to retire, by the names that it gave them.

A `SpecCluster` (job queues, SSH, virtual machines) does so before it ends them by its own means.
Dask expects addresses there, so it retires none, and what the cluster object then ends looks
like deaths.  That object may be in another process than the driver that is recorded, and where
the scheduler records by itself no driver is known at all: this request is what all have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed import Scheduler

_NOTES = "_dask_blackbox_requested_ends"
_ASKED = "retire_workers"
"""The operation that clients and cluster objects call."""
_MOST_NAMES = 1_000

Listener = Callable[["list[str]", int], None]
"""Takes the names of workers that are about to be ended, and how many were left out."""


def watch_requested_ends(scheduler: Scheduler, listener: Listener) -> None:
    """Report from now on which workers a cluster object is about to end."""
    notes = scheduler.__dict__.get(_NOTES)
    if notes is None:
        notes = scheduler.__dict__[_NOTES] = {"listeners": []}
        _wrap(scheduler, notes)
    notes["listeners"].append(listener)


def unwatch_requested_ends(scheduler: Scheduler, listener: Listener) -> None:
    """Stop reporting to a listener."""
    notes = scheduler.__dict__.get(_NOTES)
    if notes is None or listener not in notes["listeners"]:
        return
    notes["listeners"].remove(listener)
    if notes["listeners"]:
        return
    del scheduler.__dict__[_NOTES]
    if scheduler.handlers.get(_ASKED) is notes.get("handler"):
        scheduler.handlers[_ASKED] = notes["inner"]


def _wrap(scheduler: Scheduler, notes: dict[str, Any]) -> None:
    inner = scheduler.handlers.get(_ASKED)
    if inner is None:
        return

    async def retire_workers(**given: Any) -> object:
        try:
            _report(notes, given.get("workers"))
        except Exception:  # a failure of ours must not keep a cluster from scaling down
            pass
        return await inner(**given)

    notes["inner"] = inner
    notes["handler"] = scheduler.handlers[_ASKED] = retire_workers


def _report(notes: dict[str, Any], asked: object) -> None:
    if not isinstance(asked, (list, tuple, set)):
        return
    # What has such an address, Dask retires, and says so itself.
    names = sorted(name for each in asked if "://" not in (name := str(each)))
    for listener in tuple(notes["listeners"]) if names else ():
        listener(names[:_MOST_NAMES], max(len(names) - _MOST_NAMES, 0))

"""Always-on recording: `dask scheduler --preload dask_blackbox.preload`.

Every run on a long-lived cluster is recorded, with no change to anyone's code.  Only the
scheduler's environment needs this package; its settings are those of `dask.config` there.
A preload that cannot be imported ends its scheduler, so this one imports nothing of ours
before it is called.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

__all__ = ["dask_setup", "dask_teardown"]


async def dask_setup(server: object) -> None:
    """Record the runs of a scheduler from now on (called by Dask)."""
    await _in_guard("always-on recording", _begin, server)


async def dask_teardown(server: object) -> None:
    """End what is still recorded (called by Dask, while the scheduler still answers)."""
    await _in_guard("the end of always-on recording", _end, server)


async def _in_guard(
    doing: str, work: Callable[[object], Awaitable[None]], server: object
) -> None:
    try:
        from dask_blackbox.guard import guard
    except Exception as error:  # noqa: BLE001 - whatever it was, the scheduler must start
        _log = logging.getLogger("dask_blackbox")
        _log.warning("dask-blackbox continued without %s: %r", doing, error)
        return
    with guard(doing):
        await work(server)


async def _begin(server: object) -> None:
    from distributed import Scheduler

    from dask_blackbox.autorecord.run_watcher import RunWatcher

    if not isinstance(server, Scheduler):
        raise TypeError(
            "dask_blackbox.preload runs in schedulers (--preload of `dask scheduler`, "
            f"distributed.scheduler.preload), not in a {type(server).__name__}"
        )
    await RunWatcher().begin(server)


async def _end(server: object) -> None:
    from dask_blackbox.autorecord.run_watcher import NAME

    resident = getattr(server, "plugins", {}).get(NAME)
    if resident is not None:
        await resident.end()

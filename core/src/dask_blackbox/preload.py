"""Always-on recording: `dask scheduler --preload dask_blackbox.preload`.

Every run on a long-lived cluster is recorded, with no change to anyone's code.  Only the
scheduler's environment needs this package; its settings are those of `dask.config` there.
"""

from __future__ import annotations

from dask_blackbox.guard import guard

__all__ = ["dask_setup", "dask_teardown"]


async def dask_setup(server: object) -> None:
    """Record the runs of a scheduler from now on (called by Dask)."""
    from distributed import Scheduler

    from dask_blackbox.autorecord.run_watcher import RunWatcher

    with guard("always-on recording"):
        if not isinstance(server, Scheduler):
            raise TypeError(
                "dask_blackbox.preload runs in schedulers (--preload of `dask "
                "scheduler`, "
                f"distributed.scheduler.preload), not in a {type(server).__name__}"
            )
        await RunWatcher().begin(server)


async def dask_teardown(server: object) -> None:
    """End what is still recorded (called by Dask, while the scheduler still answers)."""
    from dask_blackbox.autorecord.run_watcher import NAME

    with guard("the end of always-on recording"):
        resident = getattr(server, "plugins", {}).get(NAME)
        if resident is not None:
            await resident.end()

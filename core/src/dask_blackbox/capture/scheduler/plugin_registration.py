"""Registers our plugins on workers and nannies, from the scheduler, and removes them again.

A worker that does not answer delays neither the start nor the end of the run.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Awaitable, Callable, Mapping

from ..overload import extended

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed import Scheduler

_REGISTERING, _UNREGISTERING, _LEAVING = 5.0, 2.0, 1.0
"""The first is extended on an overloaded host; the driver waits for 15 s in all."""
_LONGEST = 2_000

Plugins = tuple[bytes | None, bytes | None]


async def register_everywhere(
    scheduler: Scheduler, name: str, plugins: Plugins, report: Callable[..., None]
) -> None:
    """Register the plugins on all present and future workers and nannies.

    Args:
        plugins: The workers' and the nannies', pickled; None: others have theirs there.
        report: Takes kind, subject and particulars of what went wrong.
    """
    there = set(scheduler.workers)
    calls: tuple[Callable[..., Awaitable[Mapping[str, object] | None]], ...] = (
        scheduler.register_worker_plugin,
        scheduler.register_nanny_plugin,
    )
    work = [
        asyncio.ensure_future(
            call(comm=None, plugin=plugin, name=name, idempotent=False)
        )
        for call, plugin in zip(calls, plugins)
        if plugin is not None
    ]
    if not work:
        return
    # A task that begins before its worker has our plugin is recorded only in part.
    done, late = await asyncio.wait(work, timeout=extended(_REGISTERING))
    for each in done:
        failed = each.exception()
        if failed is not None:
            # One that ends while it is asked is no failure of the others.
            if not (isinstance(failed, OSError) and await _has_left(scheduler, there)):
                report("capture-failed", "", doing="plugins", error=repr(failed))
            continue
        for address, answer in (each.result() or {}).items():
            if isinstance(answer, dict) and answer.get("status") != "OK":
                error = str(answer.get("text", answer.get("exception")))[:_LONGEST]
                report("capture-failed", address, doing="plugin", error=error)
    for each in late:
        each.add_done_callback(lambda task: task.cancelled() or task.exception())


async def _has_left(scheduler: Scheduler, there: set[str]) -> bool:
    """Return whether one of the workers has left; the connection to it breaks before."""
    deadline = time.monotonic() + _LEAVING
    while there <= set(scheduler.workers):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


async def unregister_everywhere(
    scheduler: Scheduler, name: str, plugins: Plugins
) -> bool:
    """Remove the plugins again, as far as workers and nannies answer.

    Returns:
        Whether all workers had a plugin, and have answered that it is removed.
    """
    calls = (scheduler.unregister_worker_plugin, scheduler.unregister_nanny_plugin)
    removed = False
    for call, plugin in zip(calls, plugins):
        if plugin is None:
            continue
        try:
            answers = await asyncio.wait_for(call(comm=None, name=name), _UNREGISTERING)
        except Exception:  # the cluster is going down, or a worker does not answer
            pass
        else:
            if plugin is plugins[0]:
                removed = all(each["status"] == "OK" for each in answers.values())
    return removed

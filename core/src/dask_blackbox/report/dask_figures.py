"""Dask's own figures, fed from a recording instead of a scheduler.

What Dask has changed so that it cannot be fed any more gives None, never an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

from dask_blackbox.events import SchedulerLoad
from dask_blackbox.formatting import plain
from dask_blackbox.report.profile_tree import INTERVAL
from dask_blackbox.report.workers import Life
from dask_blackbox.run import RunTables

__all__ = ["bandwidth_by_type", "bandwidth_by_worker", "profile_figure"]

logger = logging.getLogger("dask_blackbox")

_MOST_FRAMES = 6_000
_STRETCHED = {"sizing_mode": "stretch_both"}
_Made = TypeVar("_Made")


def _made(make: Callable[[], _Made]) -> _Made | None:
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - another version of Dask
        logger.info("one of Dask's figures could not be made: %r", error)
        return None


def profile_figure(tree: dict[str, object]) -> object | None:
    """Return Dask's flame graph of a profile; None if it is too large for that."""

    def make() -> Any | None:
        from distributed.profile import plot_data, plot_figure

        data = plot_data(_cleaned(tree), profile_interval=INTERVAL)
        if len(data["left"]) > _MOST_FRAMES:
            return None
        return plot_figure(data, **_STRETCHED)[0]

    return _made(make)


def _cleaned(tree: dict[str, Any]) -> dict[str, object]:
    """Return a profile with every field that Dask reads, its texts made harmless."""
    description = tree["description"]
    return {
        "count": tree["count"],
        "description": {
            "name": plain(str(description.get("name") or "")),
            "filename": plain(str(description.get("filename") or "")),
            "line_number": description.get("line_number") or 0,
            "line": plain(str(description.get("line") or "")),
        },
        "children": {name: _cleaned(child) for name, child in tree["children"].items()},
    }


def _last_load(run: RunTables) -> SchedulerLoad | None:
    return next(
        (each for each in reversed(run.of(SchedulerLoad)) if each.bandwidth), None
    )


def bandwidth_by_worker(run: RunTables, lives: list[Life]) -> object | None:
    """Return Dask's map of how fast results went from each worker to each other."""
    load = _last_load(run)
    if load is None:
        return None
    pairs = {(to, source): speed for to, source, speed in load.bandwidth}
    names = {life.address: SimpleNamespace(name=plain(life.label)) for life in lives}

    def make() -> object:
        from distributed.dashboard.components.scheduler import BandwidthWorkers

        return _filled(
            BandwidthWorkers,
            SimpleNamespace(
                bandwidth_workers=pairs,
                workers=names,
                bandwidth=load.bandwidth_mean or 0,
            ),
        )

    return _made(make)


def bandwidth_by_type(run: RunTables) -> object | None:
    """Return Dask's chart of how fast results of each type went between workers."""
    load = _last_load(run)
    if load is None or not load.bandwidth_types:
        return None
    types = {plain(name): speed for name, speed in load.bandwidth_types.items()}

    def make() -> object:
        from distributed.dashboard.components.scheduler import BandwidthTypes

        return _filled(
            BandwidthTypes,
            SimpleNamespace(bandwidth_types=types, bandwidth=load.bandwidth_mean or 0),
        )

    return _made(make)


def _filled(component: Any, scheduler: SimpleNamespace) -> object:
    figure = component(scheduler, **_STRETCHED)
    figure.update()
    return figure.root

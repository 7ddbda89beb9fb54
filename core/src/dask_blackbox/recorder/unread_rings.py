"""Reads the rings of this host's workers that no nanny has read."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Collection, Iterator

from dask_blackbox.capture.nanny.worker_exit import (
    exit_report,
    rings_of,
    rings_of_dead_processes,
    state_of_process,
    take_exit_report,
)
from dask_blackbox.events import Rows

_OF_PROCESS = ("task-signalled",)
"""Events that may report why everything ended."""


def last_lines(
    folder: str,
    unreported: Collection[str],
    *,
    silent: Collection[str] = (),
    all_dead: bool,
    cut_off: bool = False,
) -> Iterator[Rows]:
    """Yield the rows in the rings of this host, and remove the rings.

    Args:
        folder: The folder of this host's rings.
        unreported: Addresses of workers that left and have no exit report yet.
        silent: Addresses of workers that are alive but have stopped sending.
        all_dead: Report all that died, because it is unknown which workers left.
        cut_off: Also read the lines of live workers, which their scheduler did not forward.
    """
    rings = [ring for ring, _ in rings_of(folder)]
    if not cut_off:
        rings = _rings_to_read(folder, {*unreported, *silent})
    for ring in rings:
        facts = take_exit_report(ring)
        facts = facts or exit_report(ring, None, observed_at=time.time(), by="recorder")
        if state := state_of_process(facts["pid"]):
            facts["alive"] = state
        lines = facts.pop("lines")
        rows: dict[str, list[list[object]]] = {
            "log": [row[1:] for row in lines if row[0] == "log"],
            # Other events are about tasks, and whose these are only the scheduler knew.
            "event": [
                row[1:] for row in lines if row[0] == "event" and row[2] in _OF_PROCESS
            ],
        }
        if all_dead or facts["worker"] in unreported:
            reported = json.dumps(facts)
            event = [time.time(), "worker-exit-report", facts["worker"], reported]
            rows["event"].append(event)
        elif facts["worker"] in silent:
            read = json.dumps({"pid": facts["pid"], "lines_read": True})
            rows["event"].append(
                [time.time(), "worker-unresponsive", facts["worker"], read]
            )
        yield rows
    shutil.rmtree(folder, ignore_errors=True)


def _rings_to_read(folder: str, unreported: Collection[str]) -> list[str]:
    """Return the rings of dead workers, and of workers that left or stopped sending."""
    dead = rings_of_dead_processes(folder)
    left = [
        ring
        for ring, identity in rings_of(folder)
        if identity.get("worker") in unreported
    ]
    return dead + [ring for ring in left if ring not in dead]

"""The parts of one execution of a task: compute, transfer, disk, deserialize."""

from __future__ import annotations

from typing import Any


def split(startstops: Any) -> tuple[float | None, ...]:
    """Return start, stop and the seconds of compute, transfer, disk, deserialize."""
    if not startstops:
        return (None, None, 0.0, 0.0, 0.0, 0.0)
    if len(startstops) == 1 and startstops[0]["action"] == "compute":  # by far the most
        begin, end = startstops[0]["start"], startstops[0]["stop"]
        return (begin, end, end - begin, 0.0, 0.0, 0.0)
    compute = transfer = disk = deserialize = 0.0
    begin, end = startstops[0]["start"], startstops[0]["stop"]
    for part in startstops:
        start, stop, action = part["start"], part["stop"], part["action"]
        begin, end = min(begin, start), max(end, stop)
        if action == "compute":
            compute += stop - start
        elif action == "transfer":
            transfer += stop - start
        elif action == "deserialize":
            deserialize += stop - start
        else:
            disk += stop - start
    return (begin, end, compute, transfer, disk, deserialize)
